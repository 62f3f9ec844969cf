"""All services together: the list of them, their settings, and a server that runs any set of them in one process."""
