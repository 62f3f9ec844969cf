"""The log as it grows: `GET /api/events/stream`. Passes events on without decoding them."""
