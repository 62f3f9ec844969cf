"""NATS and PostgreSQL as supervised child processes. Keep this file empty: `guard.py` must import nothing of Drover."""
