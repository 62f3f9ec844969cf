"""`GET /api/events/stream`: sends new events of the log to clients, without decoding them."""
