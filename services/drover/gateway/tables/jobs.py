"""Writes of `jobs`: create, pause, resume, end, order and schedule jobs. The rules are in the decider."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType
from uuid_utils import uuid7

from drover.bus.messages import Accepted
from drover.domain.decider import Command
from drover.domain.fleet.commands import (
    CancelJob,
    CreateJob,
    DeactivateJob,
    PauseJob,
    PrioritizeJob,
    ResumeJob,
    RunJobNext,
    ScheduleJob,
)
from drover.domain.fleet.events import Target as JobTarget
from drover.domain.fleet.job_spec import JobSpec
from drover.domain.spec import fields_of
from drover.gateway.rows import Row, job_row
from drover.gateway.writes.declaration import Insert, Target, Update, WriteTable, each
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.forgotten_rows import forgotten_rows, in_roster
from drover.gateway.writes.shown import live
from drover.web.errors import invalid

NOBODY_YET: Final = JobTarget(device_ids=())
"""The target of a job that only devices assigned by name may run."""


forgotten_jobs: Final = forgotten_rows("jobs", ended_at="ended_at", without_postgres=True, is_known=in_roster)


class NewJob(JobSpec, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of `jobs` as a client writes it. Its defaults are those of the users' phone farm. The module
    `domain/fleet/validation.py` checks ranges and sums."""

    id: UUID | UnsetType = UNSET
    is_active: bool = True


class JobChange(msgspec.Struct, forbid_unknown_fields=True):
    """What a PATCH may change: the status, the place in the queue, or the time. One of them in a request."""

    status: Literal["active", "paused", "cancelled"] | UnsetType = UNSET
    is_active: bool | UnsetType = UNSET
    """The status in the way that dashboards write it. Both may be sent if they agree."""
    priority: int | UnsetType = UNSET
    run_next: Literal[True] | UnsetType = UNSET
    """Puts the job before all others that wait. It is no column: `put_first` shows which job was put first."""
    not_before: Annotated[datetime, Meta(tz=True)] | UnsetType | None = UNSET
    """The time before which the job does not start; null: it may start at once."""


_BY_STATUS: Final[dict[str, type[PauseJob] | type[ResumeJob] | type[CancelJob]]] = {
    "active": ResumeJob,
    "paused": PauseJob,
    "cancelled": CancelJob,
}


_TURNS: Final = ("priority", "run_next", "not_before")
"""The fields of `JobChange` that change when a job has its turn."""


def create(edge: Edge, spec: JobSpec, *, is_active: bool) -> CreateJob:
    """Make the command for a new row of `jobs` or `tasks`. Clients may choose the id."""
    id_ = getattr(spec, "id", UNSET)
    fields = fields_of(JobSpec, spec)
    if spec.target is None and edge.jobs_for == "assigned":
        fields["target"] = NOBODY_YET
    return CreateJob(job_id=str(uuid7() if id_ is UNSET else id_), is_active=is_active, **fields)


def _create(edge: Edge, row: NewJob) -> CreateJob:
    return create(edge, row, is_active=row.is_active)


def _change(change: JobChange, target: Target) -> Command:
    if change.priority is not UNSET:
        return PrioritizeJob(target.id, change.priority)
    if change.run_next is not UNSET:
        return RunJobNext(target.id)
    if change.not_before is not UNSET:
        return ScheduleJob(target.id, change.not_before)
    if change.status is UNSET:
        return ResumeJob(target.id) if change.is_active else DeactivateJob(target.id)
    return _BY_STATUS[change.status](target.id)


def _check(change: JobChange) -> None:
    switches = change.status is not UNSET or change.is_active is not UNSET
    kinds = {"status": switches} | {name: getattr(change, name) is not UNSET for name in _TURNS}
    asked = [name for name, is_asked in kinds.items() if is_asked]
    if not asked:
        raise invalid(f"status, is_active, {', '.join(_TURNS[:-1])} or {_TURNS[-1]} is required", field="status")
    if len(asked) > 1:
        raise invalid(f"Change {' and '.join(asked)} in separate requests", field=asked[1])
    if change.status is not UNSET and change.is_active not in (UNSET, change.status == "active"):
        message = f"status {change.status} and is_active {str(change.is_active).lower()} contradict each other"
        raise invalid(message, field="is_active", value=change.is_active)


def _created(edge: Edge, command: CreateJob, done: Accepted) -> Row:
    """Make the row from the recorded values. Other columns come from live state."""
    told: Row = done.result
    return _row(edge, told["id"], None) | told


def _row(edge: Edge, job_id: str, done: Accepted | None) -> Row:
    # If the roster is more than a second late, it may still show the job as it was before.
    job = edge.roster.fleet.jobs.get(job_id)
    return {"id": job_id} if job is None else job_row(job)


JOBS: Final = WriteTable(
    relation="jobs",
    client=lambda edge, command: edge.fleet,
    insert=Insert(shape=NewJob, command=_create, show=_created, forgotten=forgotten_jobs),
    update=Update(shape=JobChange, apply=each(_change, check=_check), show=live(_row)),
)
