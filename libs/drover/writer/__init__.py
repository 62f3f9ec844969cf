"""Runs deciders: the process that holds the lease of a partition turns commands into commits. The rules themselves are
in `domain`."""
