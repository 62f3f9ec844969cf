"""NATS and PostgreSQL as supervised child processes. Keep this file empty: the guard must import nothing of Drover."""
