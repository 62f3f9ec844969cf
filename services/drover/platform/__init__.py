"""All services together: their registry, their settings, and any set of them in one process."""
