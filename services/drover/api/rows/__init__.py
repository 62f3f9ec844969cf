"""Live changes of the read models' rows, for callers who may read them: `GET /api/stream`."""
