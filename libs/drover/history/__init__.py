"""Time travel: states of the past, and queries on them. The present is elsewhere."""
