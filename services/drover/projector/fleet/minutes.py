"""Attempts by the minute, `attempt_minutes`: how many began and ended, and how long they took. For charts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from drover.projection.projection import KeyedTable, Tables
from drover.projector.fleet.assignments import AssignmentRow

_MILLISECOND: Final = timedelta(milliseconds=1)


class MinuteRow(msgspec.Struct, frozen=True, gc=False):
    minute: datetime
    """When it begins."""
    created: int = 0
    sent: int = 0
    started: int = 0
    succeeded: int = 0
    failed: int = 0
    """Attempts that failed, for good or not; timeouts are counted by themselves."""
    timed_out: int = 0
    failed_final: int = 0
    """Assignments that failed for good."""
    rolled_back: int = 0
    cancelled: int = 0
    waited_ms: int = 0
    """From their offer to their start, all that started together. Whole numbers: sums must not depend on rounding."""
    ran_ms: int = 0
    """From their start to their end, all that succeeded together."""


MINUTES: Final = KeyedTable(
    name="attempt_minutes",
    row=MinuteRow,
    types={
        "minute": "timestamptz",
        "created": "int",
        "sent": "int",
        "started": "int",
        "succeeded": "int",
        "failed": "int",
        "timed_out": "int",
        "failed_final": "int",
        "rolled_back": "int",
        "cancelled": "int",
        "waited_ms": "bigint",
        "ran_ms": "bigint",
    },
    key=("minute",),
)

COUNTED: Final = {
    "CREATED": "created",
    "SENT": "sent",
    "ACKED": "started",
    "SUCCEEDED": "succeeded",
    "FAILED": "failed",
    "TIMEOUT": "timed_out",
    "FAILED_FINAL": "failed_final",
    "ROLLED_BACK": "rolled_back",
    "CANCELLED": "cancelled",
}
"""Which column an entry of the history is counted in. The others are consequences of these."""


def minute_of(event: Any) -> datetime:
    minute: datetime = event.at.replace(second=0, microsecond=0)
    return minute


def count_attempt(tables: Tables, event: Any, event_type: str, assignment: AssignmentRow) -> None:
    column = COUNTED.get(event_type)
    if column is None:
        return
    minute = minute_of(event)
    row = tables.get(MINUTES, minute) or MinuteRow(minute)
    changes = {column: getattr(row, column) + 1}
    if event_type == "ACKED" and assignment.assigned_at is not None:
        changes["waited_ms"] = row.waited_ms + _ms(event.at - assignment.assigned_at)
    elif event_type == "SUCCEEDED":
        changes["ran_ms"] = row.ran_ms + _ms(event.at - event.started_at)
    tables.put(MINUTES, replace(row, **changes))


def _ms(duration: timedelta) -> int:
    return max(0, duration // _MILLISECOND)
