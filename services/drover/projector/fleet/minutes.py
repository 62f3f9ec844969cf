"""The table `attempt_minutes`, for charts: how many attempts began and ended in each minute, and how long they took."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from msgspec.structs import replace

from drover.projection.projection import Tables
from drover.readmodel.fleet.assignments import AssignmentRow
from drover.readmodel.fleet.attempts import MINUTES, MinuteRow

_MILLISECOND: Final = timedelta(milliseconds=1)


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
"""For each counted event type of `tasks_event`: the column that counts it. Other types only follow from these."""


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
