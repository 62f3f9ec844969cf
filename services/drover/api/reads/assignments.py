"""Assignments of a job, and the history of their attempts, as lists."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from drover.api.reads.attempts import AttemptEvent
from drover.api.reads.listing import Key, Listing, Where
from drover.api.reads.parameters import one_of, text, uuid
from drover.domain.fleet.state import AssignmentStatus

CONTEXT: Final = "fleet"
EVENT_TYPES: Final = (
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


class Assignment(msgspec.Struct):
    """One job on one device."""

    id: UUID
    job_id: UUID
    device_id: UUID
    serial_number: str | None
    pc_id: str
    status: AssignmentStatus
    phase: str
    """Where a pending one stands: `waiting`, `offered`, `sent`, `retrying`; else as `status`."""
    run: int
    attempt: int
    retry_count: int
    """Attempts used up, of three."""
    progress_pct: int
    ad_playing: bool
    named: bool
    """A person named this device."""
    error_code: str | None
    error_message: str | None
    timed_out: bool
    reason: str | None
    """Why it was taken back, parked or cancelled."""
    actual_duration_sec: int | None
    did_like: bool
    did_comment: bool
    did_playlist: bool
    assigned_at: datetime | None
    sent_at: datetime | None
    started_at: datetime | None
    timeout_at: datetime | None
    retry_due_at: datetime | None
    completed_at: datetime | None
    """Its end, whatever it was."""
    created_at: datetime
    updated_at: datetime


_OF_JOB: Final = uuid("job_id", "Of this job.")

ASSIGNMENTS: Final = Listing(
    "assignments",
    CONTEXT,
    Assignment,
    "rm_fleet.assignment_rows a",
    key=(Key("created_at", "a.created_at", datetime, "timestamptz"), Key("id", "a.id", UUID, "uuid")),
    wheres=(
        Where(_OF_JOB, "a.job_id = {}", in_path=True),
        Where(
            one_of("status", [*AssignmentStatus], "In one of these states.", many=True),
            "a.status = ANY ({}::text[])",
        ),
        Where(text("pc_id", "On this PC."), "a.pc_id = {}"),
    ),
    descending=False,
)
ATTEMPTS: Final = Listing(
    "attempts",
    CONTEXT,
    AttemptEvent,
    "rm_fleet.tasks_event e",
    key=(Key("created_at", "e.created_at", datetime, "timestamptz"), Key("id", "e.id", int, "bigint")),
    wheres=(
        Where(_OF_JOB, "e.task_id = {}", in_path=True),
        Where(
            one_of("event_type", EVENT_TYPES, "One of these.", many=True),
            "e.event_type = ANY ({}::text[])",
        ),
        Where(uuid("device_id", "Of this device."), "e.device_id = {}"),
        Where(uuid("assignment_id", "Of this assignment."), "e.task_device_id = {}"),
    ),
)
