"""Makes rows of `task_devices` from live state. Document 002 (the operations queue) has this name for assignments."""

from __future__ import annotations

from typing import Final

from drover.domain.fleet.policy import ATTEMPTS_MAX
from drover.domain.fleet.state import Assignment, AssignmentStatus, Fleet, Phase
from drover.gateway.rows import Row, assignment_row
from drover.readmodel.models import RELATIONS

CLAIMED: Final = "claimed"
"""The status of an assignment that its phone has fetched, but not started."""

_SAME: Final = tuple(name for name in RELATIONS["task_devices"].columns if name in RELATIONS["job_assignments"].columns)
"""Columns that `task_devices` and `job_assignments` both have."""


def task_device_row(fleet: Fleet, assignment: Assignment) -> Row:
    row = _renamed(assignment_row(fleet, assignment))
    return row | {"status": CLAIMED} if assignment.phase is Phase.SENT else row


def row_of(fleet: Fleet, assignment_id: str) -> Row:
    """Make the row from live state. If live state does not have the assignment, the row has only its id."""
    assignment = fleet.assignments.get(assignment_id)
    return {"id": assignment_id} if assignment is None else task_device_row(fleet, assignment)


def claimed_row(fleet: Fleet, assignment_id: str, run: int) -> Row:
    """Make the row of a claimed assignment, which counts as begun. Status and run are those of the claim, because live
    state may be older or newer than the claim."""
    return row_of(fleet, assignment_id) | {"status": AssignmentStatus.RUNNING, "run": run}


def reported_row(fleet: Fleet, told: Row) -> Row:
    """Make the row of an assignment after a final report. `told` is the answer to the report's command."""
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
