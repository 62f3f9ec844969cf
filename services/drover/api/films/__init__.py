"""Finished renders as films in a browser: streamed from the NAS to callers who may see their content."""
