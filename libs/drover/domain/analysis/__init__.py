"""Analyses ("tests"): who may start how many, what became of each, and the cleanup of those that never ended."""

from drover.domain.analysis.decider import ANALYSIS

__all__ = ["ANALYSIS"]
