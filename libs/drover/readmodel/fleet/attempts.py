"""The history of attempts, by event and by minute: the rows, and the columns that clients see."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Final
from uuid import UUID

from drover.readmodel.attempt_events import ATTEMPT_EVENT_TYPES
from drover.readmodel.column import BigInt, pick, words
from drover.readmodel.relation import View, relation
from drover.readmodel.row import Row
from drover.readmodel.table import AppendTable, Index, KeyedTable

_fleet = partial(relation, "fleet")


class AttemptFacts(Row, frozen=True):
    """One entry in the history of attempts."""

    id: BigInt
    """The id, computed from the position of the event in the log: sequence of the commit * 65536 + line. It grows with
    time."""
    device_id: UUID
    pc_id: str
    attempt: int
    run: int
    event_type: Annotated[str, words(*ATTEMPT_EVENT_TYPES)]
    level: Annotated[str, words("info", "warning", "error")]
    error_code: str | None
    message: str | None
    due_at: datetime | None
    screenshot_ref: str | None
    activity_stack: str | None
    by: str
    created_at: datetime


class TaskEventRow(AttemptFacts, frozen=True):
    """One entry in the history of attempts, in the words of document 002 (the operations queue)."""

    task_id: UUID
    task_device_id: UUID


class MinuteRow(Row, frozen=True):
    """What happened in one minute, summed over `tasks_event`, because one hour of a large farm has a million of those
    rows."""

    minute: datetime
    """The time when the minute began."""
    created: int = 0
    sent: int = 0
    started: int = 0
    succeeded: int = 0
    failed: int = 0
    """How many attempts failed, finally or not. Timeouts are counted separately."""
    timed_out: int = 0
    failed_final: int = 0
    """How many assignments failed for good."""
    rolled_back: int = 0
    cancelled: int = 0
    waited_ms: BigInt = 0
    """Sum of the times from offer to start, over all started attempts. An integer, so that sums have no rounding."""
    ran_ms: BigInt = 0
    """Sum of the times from start to end, over all successful attempts."""


TASKS_EVENT: Final = AppendTable(
    name="tasks_event",
    row=TaskEventRow,
    key=("id",),
    by_position="id",
    indices=(
        Index("tasks_event_task_device_id", "task_device_id"),
        Index("tasks_event_task_id", "task_id, created_at"),
        Index("tasks_event_device_id", "device_id, created_at"),
        Index("tasks_event_created_at", "created_at"),
    ),
)
MINUTES: Final = KeyedTable(name="attempt_minutes", row=MinuteRow, key=("minute",), fillfactor=50)

RELATIONS: Final = (
    _fleet("tasks_event", TaskEventRow, owner="device_id"),
    _fleet(
        "execution_logs",
        (
            *pick(TaskEventRow, "id", "task_id", "task_device_id", "device_id", "pc_id", "event_type", "level"),
            *pick(TaskEventRow, "message", "error_code", "attempt", "run", "by", "created_at"),
        ),
        view=View("tasks_event", "e"),
        owner="device_id",
    ),
)
