"""All services put together: which there are, what they can be told, and any set of them in one process."""
