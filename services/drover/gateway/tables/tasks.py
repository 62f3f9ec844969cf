"""Writes of `tasks`. Document 002 (the operations queue) has this name for jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.decider import Command
from drover.domain.fleet.commands import CancelJob, CreateJob, DeactivateJob, PauseJob, ResumeJob
from drover.domain.fleet.job_spec import JobSpec
from drover.domain.fleet.state import JobStatus
from drover.gateway.rows import Row
from drover.gateway.tables.jobs import create, forgotten_jobs
from drover.gateway.writes.declaration import Insert, Result, Target, Update, WriteTable
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.sending import Sending
from drover.gateway.writes.shown import stored
from drover.readmodel.models import RELATIONS

TaskStatus = Literal["pending", "running", "retrying", "success", "completed", "failed", "cancelled"]


class NewTask(JobSpec, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of `tasks` as a client writes it. The oldest task that a phone can run becomes `running` by itself."""

    id: UUID | UnsetType = UNSET
    status: Literal["pending", "running"] = "pending"


class TaskChange(msgspec.Struct, forbid_unknown_fields=True):
    """What a PATCH may change. `running` and `retrying` resume the task, `pending` pauses it, all others end it."""

    status: TaskStatus


_COMMANDS: Final[dict[str, type[PauseJob] | type[ResumeJob] | type[CancelJob] | type[DeactivateJob]]] = {
    "pending": PauseJob,
    "running": ResumeJob,
    "retrying": ResumeJob,
    "success": DeactivateJob,
    "completed": DeactivateJob,
    "failed": DeactivateJob,
    "cancelled": CancelJob,
}
_ENDED_AS: Final[dict[str, frozenset[JobStatus]]] = {
    "success": frozenset({JobStatus.COMPLETED}),
    "completed": frozenset({JobStatus.COMPLETED}),
    "failed": frozenset({JobStatus.COMPLETED, JobStatus.DEACTIVATED, JobStatus.EXPIRED}),
}
"""For each status that a client writes: the ends of a job that already satisfy it, so that nothing is left to do."""


def _create(edge: Edge, row: NewTask) -> CreateJob:
    return create(edge, row, is_active=True)


def _created(edge: Edge, command: CreateJob, done: Accepted) -> Row:
    told: Row = done.result
    relation = RELATIONS["tasks"]
    status = "running" if told["status"] == JobStatus.ACTIVE else "pending"
    blank: Row = dict.fromkeys(relation.columns)
    return blank | {name: value for name, value in told.items() if name in relation.columns} | {"status": status}


async def _apply(change: TaskChange, targets: Sequence[Target], sending: Sending) -> Sequence[Result]:
    await sending.edge.fleet.known_here()
    jobs = sending.edge.roster.fleet.jobs
    results: dict[str, Result] = {}
    commands: dict[str, Command] = {}
    for target in targets:
        job = jobs.get(target.id)
        if job is not None and job.status in _ENDED_AS.get(change.status, ()):
            results[target.id] = None
        else:
            commands[target.id] = _COMMANDS[change.status](target.id)
    outcomes = await sending.send(list(commands.values()), list(commands))
    for id_, outcome in zip(commands, outcomes, strict=True):
        results[id_] = None if _is_satisfied(change, outcome) else outcome
    return [results[target.id] for target in targets]


def _is_satisfied(change: TaskChange, outcome: Outcome) -> bool:
    """Whether the task was refused because it had already ended like this, so long ago that the roster has forgotten
    it."""
    if not isinstance(outcome, Rejected):
        return False
    return (outcome.details or {}).get("status") in _ENDED_AS.get(change.status, ())


TASKS: Final = WriteTable(
    relation="tasks",
    client=lambda edge, command: edge.fleet,
    insert=Insert(shape=NewTask, command=_create, show=_created, names={"job_id": "id"}, forgotten=forgotten_jobs),
    update=Update(shape=TaskChange, apply=_apply, show=stored("tasks")),
)
