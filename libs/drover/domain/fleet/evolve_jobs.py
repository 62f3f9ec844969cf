"""Applies events to jobs, and to the search for devices of the ACTIVE job."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace

from drover.domain.fleet import events as e
from drover.domain.fleet.evolve_past import forget_past, note_past, shed_taken_back
from drover.domain.fleet.index import (
    look_for_devices,
    pcs_to_see,
    refresh_reopening,
    refresh_withdrawal,
    see,
    stop_looking,
)
from drover.domain.fleet.job_spec import JobSpec
from drover.domain.fleet.naming import name_device
from drover.domain.fleet.policy import ARCHIVE_AFTER
from drover.domain.fleet.schedule import end_wait, start_at_once, wait_until
from drover.domain.fleet.state import (
    AssignmentStatus,
    Fleet,
    Job,
    JobStatus,
)
from drover.domain.fleet.timer_keys import job_timer
from drover.domain.fleet.turns import dequeue, enqueue
from drover.domain.spec import spec_of


def _job_created(fleet: Fleet, event: e.JobCreated) -> None:
    fleet.jobs_made += 1
    fleet.open_jobs += 1
    job = Job(
        event.job_id,
        fleet.jobs_made,
        spec_of(JobSpec, event),
        event.at,
        event.at,
        event.is_active,
    )
    fleet.jobs[job.job_id] = job
    for device_id in (event.target and event.target.device_ids) or ():
        name_device(fleet, job, fleet.devices[device_id])
    fleet.timers.set(job_timer(job.job_id), job.expires_at)
    if event.not_before is not None:
        wait_until(fleet, job, event.not_before)
    _enqueue(fleet, job)


def _job_activated(fleet: Fleet, event: e.JobActivated) -> None:
    job = fleet.jobs[event.job_id]
    dequeue(fleet, job)
    job.status, job.activated_at, job.updated_at = JobStatus.ACTIVE, job.activated_at or event.at, event.at
    look_for_devices(fleet, job)
    refresh_withdrawal(fleet, job)


def _job_returned(fleet: Fleet, event: e.JobReturned) -> None:
    job = fleet.jobs[event.job_id]
    job.returned_at = fleet.arrivals
    _requeue(fleet, job, event.at)


def _job_resumed(fleet: Fleet, event: e.JobResumed) -> None:
    job = fleet.jobs[event.job_id]
    job.wanted, job.paused_for = True, None
    _requeue(fleet, job, event.at)


def _requeue(fleet: Fleet, job: Job, at: datetime) -> None:
    _step_down(fleet, job)
    job.status, job.updated_at = JobStatus.CREATED, at
    _enqueue(fleet, job)
    refresh_withdrawal(fleet, job)


def _enqueue(fleet: Fleet, job: Job) -> None:
    """Put the job into the queue, if nothing keeps it from its turn."""
    if job.status is JobStatus.CREATED and job.wanted and not job.is_scheduled:
        enqueue(fleet, job)


def _step_down(fleet: Fleet, job: Job) -> None:
    if fleet.supply is not None and fleet.supply.job_id == job.job_id:
        stop_looking(fleet)


def _job_prioritized(fleet: Fleet, event: e.JobPrioritized) -> None:
    job = fleet.jobs[event.job_id]
    waits = dequeue(fleet, job)
    job.spec, job.put_first, job.updated_at = replace(job.spec, priority=event.priority), 0, event.at
    if waits:
        enqueue(fleet, job)


def _job_put_first(fleet: Fleet, event: e.JobPutFirst) -> None:
    job = fleet.jobs[event.job_id]
    waits = dequeue(fleet, job)
    job.put_first, job.updated_at = event.n, event.at
    if waits:
        enqueue(fleet, job)


def _job_scheduled(fleet: Fleet, event: e.JobScheduled) -> None:
    job = fleet.jobs[event.job_id]
    dequeue(fleet, job)
    job.put_first, job.updated_at = 0, event.at
    if event.not_before is None:
        start_at_once(fleet, job, event.at)
    else:
        wait_until(fleet, job, event.not_before)
    _enqueue(fleet, job)


def _job_came_due(fleet: Fleet, event: e.JobCameDue) -> None:
    job = fleet.jobs[event.job_id]
    end_wait(fleet, job)
    job.updated_at = event.at
    _enqueue(fleet, job)


def _job_paused(fleet: Fleet, event: e.JobPaused) -> None:
    job = fleet.jobs[event.job_id]
    _step_down(fleet, job)
    dequeue(fleet, job)
    job.status, job.paused_for, job.updated_at = JobStatus.PAUSED, event.rule, event.at
    job.put_first = 0
    if event.rule is not None:
        job.poison_rules.append(event.rule)
    refresh_withdrawal(fleet, job)


def _job_deactivated(fleet: Fleet, event: e.JobDeactivated) -> None:
    _end_job(fleet, event.job_id, JobStatus.DEACTIVATED, event.at)


def _job_cancelled(fleet: Fleet, event: e.JobCancelled) -> None:
    _end_job(fleet, event.job_id, JobStatus.CANCELLED, event.at)


def _job_expired(fleet: Fleet, event: e.JobExpired) -> None:
    _end_job(fleet, event.job_id, JobStatus.EXPIRED, event.at)


def _job_completed(fleet: Fleet, event: e.JobCompleted) -> None:
    _end_job(fleet, event.job_id, JobStatus.COMPLETED, event.at)


def _end_job(fleet: Fleet, job_id: str, status: JobStatus, at: datetime) -> None:
    job = fleet.jobs[job_id]
    _step_down(fleet, job)
    dequeue(fleet, job)
    job.status, job.ended_at, job.updated_at = status, at, at
    job.put_first = 0
    end_wait(fleet, job)
    fleet.open_jobs -= 1
    for device_id in job.named:
        del fleet.devices[device_id].named_in[job_id]
    job.was_named, job.named, job.present = job.named, {}, 0
    job.final_failures, job.given_up_by = {}, {}
    fleet.timers.set(job_timer(job_id), at + ARCHIVE_AFTER)
    refresh_reopening(fleet, job)
    refresh_withdrawal(fleet, job)
    note_past(fleet, job, at)


def _job_reopened(fleet: Fleet, event: e.JobReopened) -> None:
    """Let devices that have not completed the job get it again. Assignments that a person had made by name are opened
    again under their old ids, by `AssignmentReopened`."""
    job = fleet.jobs[event.job_id]
    forget_past(fleet, job.job_id)
    completed = {d: a for d, a in job.ran.items() if fleet.ended[a].status is AssignmentStatus.COMPLETED}
    job.taken_back |= dict.fromkeys(a for d, a in job.ran.items() if d not in completed)
    job.ran, job.failed, job.replaced, job.counted = completed, 0, 0, len(completed) + len(job.live)
    shed_taken_back(fleet, job, most=len(job.taken_back))
    job.wanted, job.paused_for, job.ended_at, job.returned_at = True, None, None, None
    fleet.open_jobs += 1
    for device_id in job.was_named:
        name_device(fleet, job, fleet.devices[device_id])
    job.was_named = {}
    fleet.timers.set(job_timer(job.job_id), job.expires_at)
    if event.not_before is not None:
        wait_until(fleet, job, event.not_before)
    _requeue(fleet, job, event.at)
    refresh_reopening(fleet, job)


def _job_archived(fleet: Fleet, event: e.JobArchived) -> None:
    job = fleet.jobs.pop(event.job_id)
    for assignment_id in (*job.ran.values(), *job.taken_back):
        fleet.ended.pop(assignment_id, None)
    fleet.timers.clear(job_timer(event.job_id))
    forget_past(fleet, event.job_id)


def _job_need_added(fleet: Fleet, event: e.JobNeedAdded) -> None:
    job = fleet.jobs[event.job_id]
    job.needs.append(event.capability)
    job.updated_at = event.at
    if job.status is JobStatus.ACTIVE:
        look_for_devices(fleet, job)


def _supply_advanced(fleet: Fleet, event: e.SupplyAdvanced) -> None:
    assert fleet.supply is not None
    for pc_id in pcs_to_see(fleet)[: event.pcs]:
        see(fleet, fleet.pcs[pc_id])
    fleet.supply.cursor += event.pcs


EVOLVE: Final[dict[type, Callable[[Fleet, Any], None]]] = {
    e.JobCreated: _job_created,
    e.JobActivated: _job_activated,
    e.JobReturned: _job_returned,
    e.JobPaused: _job_paused,
    e.JobResumed: _job_resumed,
    e.JobPrioritized: _job_prioritized,
    e.JobPutFirst: _job_put_first,
    e.JobScheduled: _job_scheduled,
    e.JobCameDue: _job_came_due,
    e.JobDeactivated: _job_deactivated,
    e.JobCancelled: _job_cancelled,
    e.JobExpired: _job_expired,
    e.JobCompleted: _job_completed,
    e.JobReopened: _job_reopened,
    e.JobArchived: _job_archived,
    e.JobNeedAdded: _job_need_added,
    e.SupplyAdvanced: _supply_advanced,
}
