"""The log as it grows, for people: `GET /api/stream`. It passes on what it reads and knows no event by its shape."""
