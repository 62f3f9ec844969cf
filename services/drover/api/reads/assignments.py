"""The lists of a job's assignments and of their attempts."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from drover.api.reads.attempts import AttemptEvent
from drover.api.reads.listing import Key, Listing, Where
from drover.api.reads.parameters import one_of, text, uuid
from drover.domain.fleet.state import AssignmentStatus
from drover.readmodel.attempt_events import ATTEMPT_EVENT_TYPES
from drover.readmodel.fleet.assignments import AssignmentRow

CONTEXT: Final = "fleet"


class Assignment(AssignmentRow, frozen=True, kw_only=True):
    """The assignment of one job to one device."""

    serial_number: str | None
    """The serial number of the device; null if the device is not known."""


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
            one_of("event_type", ATTEMPT_EVENT_TYPES, "One of these.", many=True),
            "e.event_type = ANY ({}::text[])",
        ),
        Where(uuid("device_id", "Of this device."), "e.device_id = {}"),
        Where(uuid("assignment_id", "Of this assignment."), "e.task_device_id = {}"),
    ),
)
