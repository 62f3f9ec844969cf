"""Analyses (tests of users) and their cleanup: the writer of the context `analysis`, the cron schedule, and the HTTP
routes."""
