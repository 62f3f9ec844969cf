"""The log as it grows: `GET /api/events/stream`. It passes on what it reads and knows no event by its shape."""
