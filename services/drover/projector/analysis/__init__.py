"""The projection of analyses: users, tests, the ledger between them, cleanups and alerts as rows. No I/O."""

from drover.projector.analysis.projection import ANALYSIS_PROJECTION

__all__ = ["ANALYSIS_PROJECTION"]
