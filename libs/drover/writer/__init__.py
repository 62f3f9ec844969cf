"""Runs deciders: one process holds the lease of a partition and turns commands into commits. No rules are here."""
