"""The types of events in the histories of attempts, for phones (`tasks_event`) and for renders (`renders_event`)."""

from __future__ import annotations

from typing import Final

ATTEMPT_EVENT_TYPES: Final = (
    "CREATED",
    "SENT",
    "ACKED",
    "SUCCEEDED",
    "FAILED",
    "TIMEOUT",
    "RETRY_SCHEDULED",
    "FAILED_FINAL",
    "ROLLED_BACK",
    "CANCELLED",
    "STALE_REPORT",
)
