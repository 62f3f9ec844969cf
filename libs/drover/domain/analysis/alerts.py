"""Kinds of alerts that analyses raise. Alerts themselves are in `drover.domain.alerts`."""

from __future__ import annotations

from typing import Final

CLEANUP_FAILED: Final = "cleanup_failed"
CLEANUP: Final = "cleanup-tests"
"""Subject of the alert: there is only one cleanup."""
