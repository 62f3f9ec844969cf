"""Analyses and their cleanup: the writer of `analysis`, cron, and what people, workers and cron jobs ask over HTTP."""
