"""`GET /api/stream`: sends changed rows of the read models to callers who may read them."""
