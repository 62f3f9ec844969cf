"""The archiver: copies the log into the archive at an interval, and removes from NATS what DROVER_LOG_KEEP lets go."""
