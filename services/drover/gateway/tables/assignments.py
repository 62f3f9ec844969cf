"""Writes of `job_assignments`: assign a job to a device by name, cancel an assignment, report on one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType
from uuid_utils import uuid7

from drover.bus.messages import Accepted
from drover.domain.fleet.commands import AssignJob, CancelAssignment
from drover.gateway.reports import ReportBody
from drover.gateway.rows import Row, assignment_row
from drover.gateway.writes.declaration import Insert, Result, Target, Update, WriteTable
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.forgotten_rows import forgotten_rows, in_roster
from drover.gateway.writes.sending import Sending
from drover.gateway.writes.shown import live
from drover.web.errors import ApiError, invalid
from drover.web.permissions import Verb
from drover.web.postgrest.ast import Filter

RELATION: Final = "job_assignments"


forgotten_assignments: Final = forgotten_rows(
    RELATION,
    Filter("status", "in", ("completed", "failed", "cancelled")),
    ended_at="updated_at",
    without_postgres=True,
    is_known=in_roster,
)


class NewAssignment(msgspec.Struct, forbid_unknown_fields=True):
    """A row of `job_assignments` as a client writes it: assigns a device to a job. The assignment waits for a slot."""

    job_id: UUID
    device_id: UUID
    id: UUID | UnsetType = UNSET
    status: Literal["pending"] = "pending"


class AssignmentChange(ReportBody):
    """A report by an agent, or `cancelled`, which a person writes.

    A report without a status means `running`: it has progress or an error.
    """

    status: Literal["running", "completed", "failed", "pending", "cancelled"] = "running"  # type: ignore[assignment]


_EVERY: Final = frozenset({"status", "run"})
_ERROR: Final = frozenset({"error_code", "error_message", "retry_count", "screenshot_ref", "activity_stack"})
USED: Final[dict[str, frozenset[str]]] = {
    "running": _EVERY
    | {"progress_pct", "started_at", "ad_playing", "popup_closed", "error_code", "error_message", "retry_count"},
    "completed": _EVERY
    | {"progress_pct", "started_at", "completed_at", "actual_duration_sec", "error_code"}
    | {"did_like", "did_comment", "did_playlist"},
    "failed": _EVERY | _ERROR,
    "pending": _EVERY | _ERROR,
    "cancelled": frozenset({"status"}),
}
"""For each status that a client writes: the columns that have an effect with it."""


def _assign(edge: Edge, row: NewAssignment) -> AssignJob:
    return AssignJob(str(uuid7() if row.id is UNSET else row.id), str(row.job_id), str(row.device_id))


async def _apply(change: AssignmentChange, targets: Sequence[Target], sending: Sending) -> Sequence[Result]:
    if not sending.names:
        raise invalid("status is required", field="status")
    sending.use_only(USED[change.status])
    if change.status == "cancelled":
        return await _cancel(targets, sending)
    return await asyncio.gather(
        *(report(change, target, sending, only_if=target.filtered("status")) for target in targets)
    )


async def _cancel(targets: Sequence[Target], sending: Sending) -> Sequence[Result]:
    # Cancelling needs the permission to create. The permission to report is not enough, because every phone has it.
    sending.edge.permissions.demand(sending.principal, RELATION, Verb.CREATE)
    commands = [CancelAssignment(target.id, only_if=target.filtered("status")) for target in targets]
    return await sending.send(commands, [target.id for target in targets])


async def report(
    body: ReportBody, target: Target, sending: Sending, *, only_if: str | None, by_pc: bool = False
) -> Accepted | ApiError | None:
    """Submit a report on one assignment. `only_if`, `by_pc` and the result are those of `Reports.submit`, but a refusal
    is returned, not raised."""
    edge, origin = sending.edge, sending.origin
    try:
        done = await edge.reports.submit(
            sending.principal,
            target.id,
            body,
            key=origin.key,
            raw=origin.raw,
            read_run=target.fence("run"),
            only_if=only_if,
            by_pc=by_pc,
        )
    except ApiError as error:
        return error
    sending.note(done, edge.fleet)
    return done


def _assigned(edge: Edge, command: AssignJob, done: Accepted) -> Row:
    """Return the row of the new assignment, or of the assignment that this job and device had already."""
    named = {"job_id": command.job_id, "device_id": command.device_id, "status": "pending"}
    return named | row_of(edge, done.result["id"], None)


def row_of(edge: Edge, assignment_id: str, done: Accepted | None) -> Row:
    """Make a row from live state and the answer to the command. An ended assignment has only a few columns."""
    fleet = edge.roster.fleet
    told: Row = done.result if done is not None and isinstance(done.result, dict) else {}
    if (assignment := fleet.assignments.get(assignment_id)) is not None:
        return assignment_row(fleet, assignment) | told  # the recorded values win if the roster is late
    if (ended := fleet.ended.get(assignment_id)) is not None:
        known = {"job_id": ended.job_id, "device_id": ended.device_id, "status": ended.status, "run": ended.run}
        return {"id": assignment_id, **known, **told}
    return {"id": assignment_id, **told}


ASSIGNMENTS: Final = WriteTable(
    relation=RELATION,
    client=lambda edge, command: edge.fleet,
    insert=Insert(shape=NewAssignment, command=_assign, show=_assigned, forgotten=forgotten_assignments),
    update=Update(shape=AssignmentChange, apply=_apply, show=live(row_of), settles=False),
    fence=("run", "status"),
)
