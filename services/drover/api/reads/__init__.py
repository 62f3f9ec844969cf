"""The read models for people: `GET /api/…`. Lists page by key, never by offset. Read-only."""
