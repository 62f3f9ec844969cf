"""Assignments (one job on one device each): the rows, and the columns that clients see."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

from drover.domain.fleet.policy import ATTEMPTS_MAX
from drover.domain.fleet.state import AssignmentStatus, Phase
from drover.readmodel.column import column, pick, renamed
from drover.readmodel.relation import View, one, relation
from drover.readmodel.row import Row
from drover.readmodel.table import Index, KeyedTable

_fleet = partial(relation, "fleet")


class JobAssignment(Row, frozen=True):
    """The assignment of one job to one device."""

    id: UUID
    job_id: UUID
    device_id: UUID
    pc_id: str
    created_at: datetime
    updated_at: datetime
    status: AssignmentStatus = AssignmentStatus.PENDING
    progress_pct: int = 0
    """The progress in percent. Between two events it comes from telemetry."""
    actual_duration_sec: int | None = None
    did_like: bool = False
    did_comment: bool = False
    did_playlist: bool = False
    error_code: str | None = None
    """The error code of the last failed attempt; cleared by a success. The same holds for `error_message` and
    `timed_out`."""
    error_message: str | None = None
    retry_count: int = 0
    """How many attempts were used, out of three."""
    assigned_at: datetime | None = None
    """When the assignment got a slot. Null: it waits without one."""
    started_at: datetime | None = None
    completed_at: datetime | None = None
    """When the assignment ended, in any way."""
    run: int = 0
    attempt: int = 1
    """The number of the current or next attempt; after the end, of the last attempt."""
    sent_at: datetime | None = None
    timeout_at: datetime | None = None
    timed_out: bool = False
    retry_due_at: datetime | None = None
    ad_playing: bool = False
    reason: str | None = None
    """Why the assignment was rolled back, parked (waits without a slot) or cancelled."""


class AssignmentRow(JobAssignment, frozen=True):
    """An assignment from its request to its end. The progress changes most often, so no index has it."""

    phase: str = Phase.WAITING
    """The phase of a pending assignment: `waiting`, `offered`, `sent`, `retrying`; otherwise the same as `status`."""
    named: bool = False
    """Whether a person assigned this device by name."""


TASK_STATUS: Final = "CASE WHEN phase = 'sent' THEN 'claimed' ELSE status END"
"""SQL of an assignment's status in the words of document 002 (the operations queue), where a sent assignment is
`claimed`. The view and the index `assignment_rows_task_status` must use the same expression."""

ASSIGNMENTS: Final = KeyedTable(
    name="assignment_rows",
    row=AssignmentRow,
    key=("id",),
    fillfactor=70,
    indices=(
        Index("assignment_rows_device", "device_id, status, assigned_at"),
        Index("assignment_rows_job", "job_id, status"),
        Index("assignment_rows_job_created_at", "job_id, created_at, id"),
        Index("assignment_rows_assigned_at", "assigned_at"),
        Index(
            "assignment_rows_task_status",
            f"({TASK_STATUS}), pc_id",
            why="What is being executed, and where. Must be the same expression as the status of `task_devices`.",
        ),
    ),
)

PROGRESS: Final = """CASE
  WHEN a.status = 'running' AND p.assignment_id = a.id AND p.run = a.run
  THEN greatest(a.progress_pct, p.progress_pct)
  ELSE a.progress_pct
END"""
"""SQL of an assignment's progress. For a running one it is the device's own report (`tel_fleet.presence p`), if that is
higher. Reports are not in the log, so `drover verify` does not compare them."""

RELATIONS: Final = (
    _fleet(
        "job_assignments",
        JobAssignment,
        view=View("assignment_rows", "a", "LEFT JOIN tel_fleet.presence p ON p.device_id = a.device_id"),
        computed={"progress_pct": PROGRESS},
        embeds=(one("jobs", "job_id"), one("devices", "device_id")),
        owner="device_id",
    ),
    _fleet(
        "task_devices",
        (
            *pick(AssignmentRow, "id"),
            renamed(AssignmentRow, "job_id", "task_id", "a.job_id"),
            *pick(AssignmentRow, "device_id", "pc_id"),
            column("status", str, TASK_STATUS, text="As in `job_assignments`, but `claimed` once it is sent."),
            *pick(AssignmentRow, "attempt"),
            column("max_attempts", int, str(ATTEMPTS_MAX)),
            column("error", str | None, "coalesce(a.error_message, a.error_code)"),
            *pick(AssignmentRow, "error_code", "timed_out", "run", "assigned_at", "sent_at", "started_at"),
            *pick(AssignmentRow, "timeout_at", "completed_at", "created_at", "updated_at"),
        ),
        view=View("assignment_rows", "a"),
        embeds=(one("tasks", "task_id"),),
        owner="device_id",
    ),
)
