"""Queries with `?as_of=`: the farm and the render queue at a past moment."""
