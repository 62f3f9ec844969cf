"""Rows of jobs, with the number of their phones by status. Each phone is counted once."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from msgspec.structs import replace

from drover.domain.fleet.events import (
    JobActivated,
    JobArchived,
    JobCameDue,
    JobCancelled,
    JobCompleted,
    JobCreated,
    JobDeactivated,
    JobExpired,
    JobNeedAdded,
    JobPaused,
    JobPrioritized,
    JobPutFirst,
    JobReopened,
    JobResumed,
    JobReturned,
    JobScheduled,
    SupplyAdvanced,
)
from drover.domain.fleet.job_spec import JobSpec
from drover.domain.fleet.state import JobStatus
from drover.domain.spec import fields_of
from drover.projection.projection import Tables, change, need
from drover.projection.rule import Rule, Rules, change_no_row
from drover.projector.fleet.keys import job_of
from drover.readmodel.fleet.jobs import JOBS, JobRow

BY_A_PERSON: Final = "admin"
OVER_TIME: Final = "time"
DONE: Final = "done"


def _change(tables: Tables, event: Any, **fields: Any) -> JobRow:
    return change(tables, JOBS, job_of(event), updated_at=event.at, **fields)


def _created(tables: Tables, event: JobCreated) -> None:
    row = JobRow(
        **fields_of(JobSpec, event),
        id=job_of(event),
        is_active=event.is_active,
        is_scheduled=event.not_before is not None,
        status=JobStatus.CREATED,
        needs=[],
        created_at=event.at,
        updated_at=event.at,
    )
    tables.put(JOBS, row)


def _activated(tables: Tables, event: JobActivated) -> None:
    activated_at = need(tables, JOBS, job_of(event)).activated_at or event.at
    _change(tables, event, status=JobStatus.ACTIVE, activated_at=activated_at)


def _returned(tables: Tables, event: JobReturned) -> None:
    _change(tables, event, status=JobStatus.CREATED)


def _paused(tables: Tables, event: JobPaused) -> None:
    _change(tables, event, status=JobStatus.PAUSED, is_active=False, paused_for=event.rule or event.reason, put_first=0)


def _resumed(tables: Tables, event: JobResumed) -> None:
    _change(tables, event, status=JobStatus.CREATED, is_active=True, paused_for=None)


def _prioritized(tables: Tables, event: JobPrioritized) -> None:
    _change(tables, event, priority=event.priority, put_first=0)


def _put_first(tables: Tables, event: JobPutFirst) -> None:
    _change(tables, event, put_first=event.n)


def _scheduled(tables: Tables, event: JobScheduled) -> None:
    is_scheduled = event.not_before is not None
    _change(tables, event, not_before=event.not_before, is_scheduled=is_scheduled, put_first=0)


def _came_due(tables: Tables, event: JobCameDue) -> None:
    _change(tables, event, is_scheduled=False)


def _reopened(tables: Tables, event: JobReopened) -> None:
    """Reopen a job. Set its counters of failed, cancelled and skipped phones to 0: these phones may get the job
    again."""
    _change(
        tables,
        event,
        status=JobStatus.CREATED,
        is_active=True,
        is_scheduled=event.not_before is not None,
        paused_for=None,
        ended_at=None,
        end_reason=None,
        failed=0,
        cancelled=0,
        skipped=0,
    )


def _deactivated(tables: Tables, event: JobDeactivated) -> None:
    _end(tables, event, JobStatus.DEACTIVATED, event.rule or BY_A_PERSON)


def _cancelled(tables: Tables, event: JobCancelled) -> None:
    _end(tables, event, JobStatus.CANCELLED, BY_A_PERSON)


def _expired(tables: Tables, event: JobExpired) -> None:
    _end(tables, event, JobStatus.EXPIRED, OVER_TIME)


def _completed(tables: Tables, event: JobCompleted) -> None:
    job = need(tables, JOBS, job_of(event))
    # The event also counts phones whose assignment still waits. Such a phone is counted when its assignment is
    # taken back.
    skipped = max(0, event.skipped - job.pending - job.retrying)
    _end(tables, replace(event, skipped=skipped), JobStatus.COMPLETED, DONE)


_Ending = JobDeactivated | JobCancelled | JobExpired | JobCompleted


def _end(tables: Tables, event: _Ending, status: JobStatus, reason: str) -> None:
    _change(
        tables,
        event,
        status=status,
        is_active=False,
        ended_at=event.at,
        end_reason=reason,
        skipped=event.skipped,
        put_first=0,
        is_scheduled=False,
    )


def _need_added(tables: Tables, event: JobNeedAdded) -> None:
    needs = need(tables, JOBS, job_of(event)).needs
    _change(tables, event, needs=[*needs, event.capability])


def count(tables: Tables, job_id: UUID, before: str | None, after: str | None) -> None:
    """Move one phone from one counter of the job to another; None stands for no counter.

    `updated_at` of the job stays the same: it tells when the job itself changed.
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
    """Return the counter for a phone whose assignment was cancelled. None: the job goes on, so the phone may get it
    again; if it never does, it is counted as skipped."""
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
    JobPrioritized: Rule(_prioritized, lambda e: (e.job_id,), _JOB),
    JobPutFirst: Rule(_put_first, lambda e: (e.job_id,), _JOB),
    JobScheduled: Rule(_scheduled, lambda e: (e.job_id,), _JOB),
    JobCameDue: Rule(_came_due, lambda e: (e.job_id,), _JOB),
    JobReopened: Rule(_reopened, lambda e: (e.job_id,), _JOB),
    JobDeactivated: Rule(_deactivated, lambda e: (e.job_id,), _JOB),
    JobCancelled: Rule(_cancelled, lambda e: (e.job_id,), _JOB),
    JobExpired: Rule(_expired, lambda e: (e.job_id,), _JOB),
    JobCompleted: Rule(_completed, lambda e: (e.job_id,), _JOB),
    JobArchived: Rule(change_no_row, lambda e: (e.job_id,)),
    JobNeedAdded: Rule(_need_added, lambda e: (e.job_id,), _JOB),
    SupplyAdvanced: Rule(change_no_row, lambda e: (e.job_id,)),
}
