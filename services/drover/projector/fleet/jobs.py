"""Rows of jobs, with how many of their phones stand where. Each phone is counted once."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
from msgspec.structs import replace

from drover.domain.fleet.events import (
    JobActivated,
    JobArchived,
    JobCancelled,
    JobCompleted,
    JobCreated,
    JobDeactivated,
    JobExpired,
    JobNeedAdded,
    JobPaused,
    JobResumed,
    JobReturned,
    SupplyAdvanced,
)
from drover.domain.fleet.state import JobStatus
from drover.postgres.types import uuid_of
from drover.projection.projection import KeyedTable, Tables, need
from drover.projection.rule import Rule, Rules
from drover.projector.fleet.keys import job_of

BY_A_PERSON: Final = "admin"
OVER_TIME: Final = "time"
DONE: Final = "done"

_encode = msgspec.json.Encoder().encode


class JobRow(msgspec.Struct, frozen=True, gc=False):
    id: UUID
    title: str | None
    target_url: str
    script_type: str
    duration_min_pct: int
    duration_max_pct: int
    prob_like: int
    prob_comment: int
    prob_playlist: int
    is_active: bool
    base_reward: float
    target: str | None
    """JSON; None: all devices."""
    status: str
    needs: list[str]
    created_at: datetime
    updated_at: datetime
    activated_at: datetime | None = None
    """Its first turn."""
    ended_at: datetime | None = None
    paused_for: str | None = None
    """The rule that three devices failed by, or `admin`."""
    end_reason: str | None = None
    """`done`, `time`, `admin`, or the rule that speaks for every device."""
    pending: int = 0
    running: int = 0
    retrying: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    skipped: int = 0


JOBS: Final = KeyedTable(
    name="job_rows",
    row=JobRow,
    types={
        "id": "uuid",
        "title": "text",
        "target_url": "text",
        "script_type": "text",
        "duration_min_pct": "int",
        "duration_max_pct": "int",
        "prob_like": "int",
        "prob_comment": "int",
        "prob_playlist": "int",
        "is_active": "bool",
        "base_reward": "float8",
        "target": "jsonb",
        "status": "text",
        "needs": "text[]",
        "created_at": "timestamptz",
        "updated_at": "timestamptz",
        "activated_at": "timestamptz",
        "ended_at": "timestamptz",
        "paused_for": "text",
        "end_reason": "text",
        "pending": "int",
        "running": "int",
        "retrying": "int",
        "completed": "int",
        "failed": "int",
        "cancelled": "int",
        "skipped": "int",
    },
    key=("id",),
)


def _created(tables: Tables, event: JobCreated) -> None:
    row = JobRow(
        id=uuid_of(event.job_id),
        title=event.title,
        target_url=event.target_url,
        script_type=event.script_type,
        duration_min_pct=event.duration_min_pct,
        duration_max_pct=event.duration_max_pct,
        prob_like=event.prob_like,
        prob_comment=event.prob_comment,
        prob_playlist=event.prob_playlist,
        is_active=event.is_active,
        base_reward=event.base_reward,
        target=None if event.target is None else _encode(event.target).decode(),
        status=JobStatus.CREATED.value,
        needs=[],
        created_at=event.at,
        updated_at=event.at,
    )
    tables.put(JOBS, row)


def _activated(tables: Tables, event: JobActivated) -> None:
    job = need(tables, JOBS, uuid_of(event.job_id))
    activated_at = job.activated_at or event.at
    tables.put(JOBS, replace(job, status=JobStatus.ACTIVE.value, activated_at=activated_at, updated_at=event.at))


def _returned(tables: Tables, event: JobReturned) -> None:
    job = need(tables, JOBS, uuid_of(event.job_id))
    tables.put(JOBS, replace(job, status=JobStatus.CREATED.value, updated_at=event.at))


def _paused(tables: Tables, event: JobPaused) -> None:
    job = need(tables, JOBS, uuid_of(event.job_id))
    paused = replace(
        job,
        status=JobStatus.PAUSED.value,
        is_active=False,
        paused_for=event.rule or event.reason,
        updated_at=event.at,
    )
    tables.put(JOBS, paused)


def _resumed(tables: Tables, event: JobResumed) -> None:
    job = need(tables, JOBS, uuid_of(event.job_id))
    resumed = replace(job, status=JobStatus.CREATED.value, is_active=True, paused_for=None, updated_at=event.at)
    tables.put(JOBS, resumed)


def _deactivated(tables: Tables, event: JobDeactivated) -> None:
    _end(tables, event.job_id, JobStatus.DEACTIVATED, event.rule or BY_A_PERSON, event.at)


def _cancelled(tables: Tables, event: JobCancelled) -> None:
    _end(tables, event.job_id, JobStatus.CANCELLED, BY_A_PERSON, event.at)


def _expired(tables: Tables, event: JobExpired) -> None:
    _end(tables, event.job_id, JobStatus.EXPIRED, OVER_TIME, event.at)


def _completed(tables: Tables, event: JobCompleted) -> None:
    job = _end(tables, event.job_id, JobStatus.COMPLETED, DONE, event.at)
    # The event counts the phones whose assignment still waits, too. Each is counted here when it is taken back.
    tables.put(JOBS, replace(job, skipped=max(0, event.skipped - job.pending - job.retrying)))


def _end(tables: Tables, job_id: str, status: JobStatus, reason: str, at: datetime) -> JobRow:
    job = need(tables, JOBS, uuid_of(job_id))
    ended = replace(job, status=status.value, is_active=False, ended_at=at, end_reason=reason, updated_at=at)
    tables.put(JOBS, ended)
    return ended


def _need_added(tables: Tables, event: JobNeedAdded) -> None:
    job = need(tables, JOBS, uuid_of(event.job_id))
    tables.put(JOBS, replace(job, needs=[*job.needs, event.capability], updated_at=event.at))


def _nothing(tables: Tables, event: object) -> None:
    """Of interest to the decider alone."""


def count(tables: Tables, job_id: UUID, before: str | None, after: str | None) -> None:
    """One phone passes from one counter to another; None: it is in none of them.

    `updated_at` stays: it tells of the job itself.
    """
    if before == after:
        return
    job = need(tables, JOBS, job_id)
    changes = {}
    if before is not None:
        changes[before] = getattr(job, before) - 1
    if after is not None:
        changes[after] = getattr(job, after) + 1
    tables.put(JOBS, replace(job, **changes))


def cancelled_as(job: JobRow, reason: str) -> str | None:
    """The counter of a phone whose assignment is cancelled.

    None: it was only taken back. The job may come to the phone again; if it never does, the phone is skipped.
    """
    if reason == BY_A_PERSON:
        return "cancelled"
    if job.ended_at is None:
        return None
    return "skipped" if job.status == JobStatus.COMPLETED.value else "cancelled"


_JOB: Final = ((JOBS, job_of),)

JOB_RULES: Final[Rules] = {
    JobCreated: Rule(_created, lambda e: (e.job_id,)),
    JobActivated: Rule(_activated, lambda e: (e.job_id,), _JOB),
    JobReturned: Rule(_returned, lambda e: (e.job_id,), _JOB),
    JobPaused: Rule(_paused, lambda e: (e.job_id,), _JOB),
    JobResumed: Rule(_resumed, lambda e: (e.job_id,), _JOB),
    JobDeactivated: Rule(_deactivated, lambda e: (e.job_id,), _JOB),
    JobCancelled: Rule(_cancelled, lambda e: (e.job_id,), _JOB),
    JobExpired: Rule(_expired, lambda e: (e.job_id,), _JOB),
    JobCompleted: Rule(_completed, lambda e: (e.job_id,), _JOB),
    JobArchived: Rule(_nothing, lambda e: (e.job_id,)),
    JobNeedAdded: Rule(_need_added, lambda e: (e.job_id,), _JOB),
    SupplyAdvanced: Rule(_nothing, lambda e: (e.job_id,)),
}
