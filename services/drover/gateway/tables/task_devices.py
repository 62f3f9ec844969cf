"""Writes of `task_devices` by the runner of a PC. Document 002 (the operations queue) has this name for assignments."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType
from uuid_utils import uuid7

from drover.bus.messages import Accepted
from drover.domain.fleet.commands import AssignJob, CancelAssignment
from drover.domain.fleet.policy import ATTEMPTS_MAX
from drover.gateway.reports import Claimed, Integer, Percentage, ReportBody
from drover.gateway.rows import Row
from drover.gateway.signs import hear_pcs_of
from drover.gateway.tables.assignments import forgotten_assignments, report
from drover.gateway.task_rows import row_of
from drover.gateway.writes.declaration import Insert, Result, Target, Update, WriteTable
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.sending import Sending
from drover.gateway.writes.shown import stored
from drover.web.errors import invalid
from drover.web.permissions import Verb

RELATION: Final = "task_devices"
TASK_DEVICE_FAILED: Final = "TASK_DEVICE_FAILED"
"""The error code of a failure that a runner reports without one."""

TaskDeviceStatus = Literal["pending", "running", "claimed", "completed", "success", "failed", "cancelled"]
_WORDS: Final[dict[str, Literal["running", "completed"]]] = {"claimed": "running", "success": "completed"}
"""Other words that runners may write for a status, each with ours."""


class NewTaskDevice(msgspec.Struct, forbid_unknown_fields=True):
    """A row of `task_devices` as a client writes it: assigns a device to a task. The row waits for a slot."""

    task_id: UUID
    device_id: UUID
    id: UUID | UnsetType = UNSET
    status: Literal["pending"] = "pending"


class TaskDeviceChange(msgspec.Struct, forbid_unknown_fields=True):
    """A report by a runner. It is about the current run unless it names one. A missing duration is the time from start
    to end."""

    status: TaskDeviceStatus | UnsetType = UNSET
    run: Integer | None = None
    attempt: Integer | None = None
    """With `failed`: the attempt that failed. The third is final."""
    error: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    """Another name for `error`."""
    progress_pct: Percentage | None = None
    actual_duration_sec: Integer | None = None
    started_at: Claimed | None = None
    completed_at: Claimed | None = None

    def report(self) -> ReportBody:
        status = "running" if self.status is UNSET else _WORDS.get(self.status, self.status)
        message = self.error if self.error is not None else self.error_message
        erred = status == "failed" or message is not None
        assert status != "cancelled"
        return ReportBody(
            status,  # type: ignore[arg-type]  # `cancelled` is excluded above
            run=self.run,
            progress_pct=self.progress_pct,
            actual_duration_sec=self.actual_duration_sec,
            started_at=self.started_at,
            completed_at=self.completed_at,
            error_code=(self.error_code or (TASK_DEVICE_FAILED if erred else None)) if status != "completed" else None,
            error_message=message,
            retry_count=_count(self.attempt) if status == "failed" else None,
        )


def _count(attempt: int | None) -> int | None:
    """Limit the number of failed attempts to the range that a report accepts."""
    return None if attempt is None else max(0, min(attempt, ATTEMPTS_MAX))


_EVERY: Final = frozenset({"status", "run"})
_ERROR: Final = frozenset({"error", "error_code", "error_message"})
USED: Final[dict[str, frozenset[str]]] = {
    "running": _EVERY | _ERROR | {"progress_pct", "started_at"},
    "completed": _EVERY | {"progress_pct", "actual_duration_sec", "started_at", "completed_at"},
    "failed": _EVERY | _ERROR | {"attempt"},
    "pending": _EVERY | _ERROR,
    "cancelled": frozenset({"status"}),
}
"""For each status that a runner reports: the columns that have an effect with it."""


def _assign(edge: Edge, row: NewTaskDevice) -> AssignJob:
    return AssignJob(str(uuid7() if row.id is UNSET else row.id), str(row.task_id), str(row.device_id))


def _assigned(edge: Edge, command: AssignJob, done: Accepted) -> Row:
    named = {"task_id": command.job_id, "device_id": command.device_id, "status": "pending"}
    return named | row_of(edge.roster.fleet, done.result["id"])


async def _apply(change: TaskDeviceChange, targets: Sequence[Target], sending: Sending) -> Sequence[Result]:
    if not sending.names:
        raise invalid("status is required", field="status")
    status = "running" if change.status is UNSET else _WORDS.get(change.status, change.status)
    sending.use_only(USED[status])
    edge = sending.edge
    hear_pcs_of(edge.telemetry, edge.roster.fleet, (target.id for target in targets), datetime.now(UTC))
    if status == "cancelled":
        edge.permissions.demand(sending.principal, RELATION, Verb.CREATE)
        commands = [CancelAssignment(one.id, also_running=True, only_if=_condition(one)) for one in targets]
        return await sending.send(commands, [target.id for target in targets])
    body = change.report()
    return await asyncio.gather(
        *(report(body, target, sending, only_if=_condition(target), by_pc=True) for target in targets)
    )


def _condition(target: Target) -> str | None:
    """Return the status that the assignment must have, in the words of the domain, because a filter names it. None: no
    filter names the status."""
    status = target.filtered("status")
    return "pending" if status == "claimed" else status


TASK_DEVICES: Final = WriteTable(
    relation=RELATION,
    client=lambda edge, command: edge.fleet,
    insert=Insert(
        shape=NewTaskDevice,
        command=_assign,
        show=_assigned,
        names={"job_id": "task_id"},
        forgotten=forgotten_assignments,
    ),
    update=Update(shape=TaskDeviceChange, apply=_apply, show=stored(RELATION)),
    fence=("run", "status"),
)
