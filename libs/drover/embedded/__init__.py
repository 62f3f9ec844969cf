"""NATS and PostgreSQL as supervised child processes. Empty: the guard imports nothing of ours."""
