"""The kinds of alerts that analyses raise. What an alert is, is in `drover.domain.alerts`."""

from __future__ import annotations

from typing import Final

CLEANUP_FAILED: Final = "cleanup_failed"
CLEANUP: Final = "cleanup-tests"
"""What it is about: there is one cleanup."""
