"""Analyses ("tests"): how many a user may start, how each ended, and the cleanup of those that never ended."""

from drover.domain.analysis.decider import ANALYSIS

__all__ = ["ANALYSIS"]
