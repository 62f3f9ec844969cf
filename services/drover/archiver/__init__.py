"""The archiver: copies the log into the archive at an interval, and removes commits from NATS that DROVER_LOG_KEEP does
not keep there."""
