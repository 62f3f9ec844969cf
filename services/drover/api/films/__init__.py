"""Endpoints that stream finished renders from the NAS to browsers, for callers who may see their content."""
