"""Queries on the read models, for people: `GET /api/…`. A list is paged by the key of its last row, never by offset."""
