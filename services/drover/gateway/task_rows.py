"""Rows of `task_devices`, the name that the operations queue (002) has for assignments, made from live state."""

from __future__ import annotations

from typing import Final

from drover.domain.fleet.policy import ATTEMPTS_MAX
from drover.domain.fleet.state import Assignment, AssignmentStatus, Fleet, Phase
from drover.gateway.rows import Row, assignment_row
from drover.readmodel.models import RELATIONS

CLAIMED: Final = "claimed"
"""Fetched, and not yet begun."""

_SAME: Final = tuple(name for name in RELATIONS["task_devices"].columns if name in RELATIONS["job_assignments"].columns)
"""Columns that both have."""


def task_device_row(fleet: Fleet, assignment: Assignment) -> Row:
    row = _renamed(assignment_row(fleet, assignment))
    return row | {"status": CLAIMED} if assignment.phase is Phase.SENT else row


def claimed_row(fleet: Fleet, assignment_id: str, run: int) -> Row:
    """One that was claimed just now. It is the caller's, even where live state is late or already further on."""
    assignment = fleet.assignments.get(assignment_id)
    known = {} if assignment is None else task_device_row(fleet, assignment)
    return known | {"id": assignment_id, "status": CLAIMED, "run": run}


def failed_row(fleet: Fleet, told: Row) -> Row:
    """One that failed just now: `told` is what its command answered. With attempts left it is pending again."""
    assignment = fleet.assignments.get(told["id"])
    if told["status"] == AssignmentStatus.PENDING and assignment is not None:
        return task_device_row(fleet, assignment)
    return _renamed(told)


def _renamed(row: Row) -> Row:
    return {
        **{name: row.get(name) for name in _SAME},
        "task_id": row["job_id"],
        "max_attempts": ATTEMPTS_MAX,
        "error": row.get("error_message") or row.get("error_code"),
    }
