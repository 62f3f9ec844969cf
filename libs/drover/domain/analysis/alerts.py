"""Kinds of alerts that analyses raise. Alerts themselves are in `drover.domain.alerts`."""

from __future__ import annotations

from typing import Final

CLEANUP_FAILED: Final = "cleanup_failed"
CLEANUP: Final = "cleanup-tests"
"""The subject of the alert about a failed cleanup. It is a fixed word, because at most one cleanup runs at a time."""
