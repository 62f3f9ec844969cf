"""Changed rows of the read models as they change, for whoever may read them: `GET /api/stream`."""
