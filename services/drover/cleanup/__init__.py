"""Analyses and their cleanup: the writer of `analysis`, cron, and the HTTP routes for people, workers and cron jobs."""
