"""The projection of analyses: users, tests, changes of balances, cleanups and alerts as rows. No I/O."""

from drover.projector.analysis.projection import ANALYSIS_PROJECTION

__all__ = ["ANALYSIS_PROJECTION"]
