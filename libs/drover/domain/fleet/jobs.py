"""Decides the commands of people about jobs and assignments."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from msgspec.structs import asdict

from drover.domain.alerts import resolve_alert
from drover.domain.decider import NOTHING, Decision, accept, answer, reject
from drover.domain.errors import Code
from drover.domain.event import Event
from drover.domain.fleet.alerts import POISON_JOB
from drover.domain.fleet.commands import (
    AssignJob,
    CancelAssignment,
    CancelJob,
    CreateJob,
    DeactivateJob,
    PauseJob,
    PrioritizeJob,
    ResumeJob,
    RunJobNext,
    ScheduleJob,
)
from drover.domain.fleet.events import (
    AssignmentCancelled,
    AssignmentReopened,
    AssignmentRequested,
    AttemptCancelled,
    AttemptRolledBack,
    JobCancelled,
    JobCreated,
    JobDeactivated,
    JobPaused,
    JobPrioritized,
    JobPutFirst,
    JobReopened,
    JobResumed,
    JobScheduled,
)
from drover.domain.fleet.evolve_attempts import BY_A_PERSON
from drover.domain.fleet.policy import ATTEMPTS_MAX, OPEN_JOBS_MAX, SCHEDULED_AHEAD_MAX
from drover.domain.fleet.state import AssignmentStatus, Fleet, Job, JobStatus, Phase
from drover.domain.fleet.supply import follow_up, unreached
from drover.domain.fleet.turns import ahead_of
from drover.domain.fleet.withdrawal import attempt_of, of
from drover.domain.wall_clock import wall_time


def create_job(fleet: Fleet, command: CreateJob, now: datetime) -> Decision:
    if command.job_id in fleet.jobs:
        return reject(Code.UNIQUE_VIOLATION, "A job with this id exists", field="id", value=command.job_id)
    if fleet.open_jobs >= OPEN_JOBS_MAX:
        return _too_many_open()
    for device_id in (command.target and command.target.device_ids) or ():
        if device_id not in fleet.devices:
            return _no_reference("device_ids", device_id, "Device not found")
    if command.not_before is not None and (refusal := _bad_time(fleet, command.not_before, now)):
        return refusal
    fields = asdict(command) | {"not_before": _utc(command.not_before)}
    return accept(JobCreated(**fields), then=follow_up())


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.astimezone(UTC)


def _bad_time(fleet: Fleet, not_before: datetime, now: datetime) -> Decision | None:
    """Refuse a time that has passed or is too far ahead, by the wall clock."""
    wall_now = wall_time(fleet, now)
    about = {"field": "not_before", "value": not_before.isoformat()}
    if not_before <= wall_now:
        message = "not_before has passed; leave it out, or set it to null, to start the job at once"
        return reject(Code.VALIDATION_ERROR, message, **about)
    if not_before > wall_now + SCHEDULED_AHEAD_MAX:
        message = f"not_before must be at most {SCHEDULED_AHEAD_MAX.days} days ahead"
        return reject(Code.VALIDATION_ERROR, message, **about)
    return None


def _no_reference(field: str, value: str, message: str) -> Decision:
    return reject(Code.CONFLICT, message, field=field, value=value, rule="V003")


def pause_job(fleet: Fleet, command: PauseJob, now: datetime) -> Decision:
    job = fleet.jobs.get(command.job_id)
    if job is None or job.has_ended:
        return _not_open(job, command.job_id)
    if job.status is JobStatus.PAUSED:
        return NOTHING
    return accept(JobPaused(job.job_id, BY_A_PERSON, None), then=follow_up())


def resume_job(fleet: Fleet, command: ResumeJob, now: datetime) -> Decision:
    job = fleet.jobs.get(command.job_id)
    if job is not None and job.status is JobStatus.DEACTIVATED:
        return _reopen(fleet, job, now)
    if job is None or job.has_ended:
        return _not_open(job, command.job_id)
    if job.status is not JobStatus.PAUSED and job.wanted:
        return NOTHING
    return accept(JobResumed(job.job_id), *resolve_alert(fleet, POISON_JOB, job.job_id, "resumed"), then=follow_up())


def _reopen(fleet: Fleet, job: Job, now: datetime) -> Decision:
    """Open a deactivated job again, unless it would have expired by now. If its time has not come yet, it waits for
    it again."""
    if now >= job.expires_at:
        return reject(Code.CONFLICT, "The job is older than 24 hours; create it again", job_id=job.job_id)
    if fleet.open_jobs >= OPEN_JOBS_MAX:
        return _too_many_open()
    not_before = job.spec.not_before
    if not_before is not None and not_before <= wall_time(fleet, now):
        not_before = None
    return accept(JobReopened(job.job_id, not_before), then=follow_up())


def prioritize_job(fleet: Fleet, command: PrioritizeJob, now: datetime) -> Decision:
    job = fleet.jobs.get(command.job_id)
    if job is None or job.has_ended:
        return _not_open(job, command.job_id)
    if job.spec.priority == command.priority and not job.put_first:
        return NOTHING
    return accept(JobPrioritized(job.job_id, command.priority), then=follow_up())


def run_job_next(fleet: Fleet, command: RunJobNext, now: datetime) -> Decision:
    """Put a job before all others that wait. The ACTIVE job has its turn already, so nothing changes for it."""
    job = fleet.jobs.get(command.job_id)
    if job is None or job.has_ended:
        return _not_open(job, command.job_id)
    if job.status is JobStatus.PAUSED or not job.wanted:
        return reject(Code.CONFLICT, "The job is paused; resume it first", job_id=job.job_id, status=job.status)
    if job.is_scheduled:
        message = "The job is scheduled for later; let it start at once first (not_before: null)"
        return reject(Code.CONFLICT, message, job_id=job.job_id, not_before=job.spec.not_before)
    if job.status is JobStatus.ACTIVE or (job.put_first and not ahead_of(fleet, job)):
        return NOTHING
    return accept(JobPutFirst(job.job_id), then=follow_up())


def schedule_job(fleet: Fleet, command: ScheduleJob, now: datetime) -> Decision:
    """Let a job wait for a time. A paused job stays paused, also when its time comes."""
    job = fleet.jobs.get(command.job_id)
    if job is None or job.has_ended:
        return _not_open(job, command.job_id)
    if command.not_before == (job.spec.not_before if job.is_scheduled else None):
        return NOTHING
    if job.status is JobStatus.ACTIVE:
        return reject(Code.CONFLICT, "The job is active; pause it first", job_id=job.job_id, status=job.status)
    if command.not_before is not None and (refusal := _bad_time(fleet, command.not_before, now)):
        return refusal
    return accept(JobScheduled(job.job_id, _utc(command.not_before)), then=follow_up())


def _too_many_open() -> Decision:
    return reject(
        Code.CONFLICT, f"{OPEN_JOBS_MAX} jobs are open, which is the limit; cancel some or wait until some end"
    )


def deactivate_job(fleet: Fleet, command: DeactivateJob, now: datetime) -> Decision:
    return _end(fleet, command.job_id, JobStatus.DEACTIVATED, partial(JobDeactivated, command.job_id, None))


def cancel_job(fleet: Fleet, command: CancelJob, now: datetime) -> Decision:
    return _end(fleet, command.job_id, JobStatus.CANCELLED, partial(JobCancelled, command.job_id))


def _end(fleet: Fleet, job_id: str, status: JobStatus, event: Callable[[int], Event]) -> Decision:
    """End a job. `event` makes the event from the number of target devices that have no assignment."""
    job = fleet.jobs.get(job_id)
    if job is None or (job.has_ended and job.status is not status):
        return _not_open(job, job_id)
    if job.has_ended:
        return NOTHING
    ended = event(unreached(fleet, job))
    return accept(ended, *resolve_alert(fleet, POISON_JOB, job_id, status.value), then=follow_up())


def _not_open(job: Job | None, job_id: str) -> Decision:
    if job is None:
        return reject(Code.NOT_FOUND, "Job not found", job_id=job_id)
    return reject(Code.CONFLICT, f"Job already {job.status}", job_id=job_id, status=job.status)


def assign_job(fleet: Fleet, command: AssignJob, now: datetime) -> Decision:
    job, device = fleet.jobs.get(command.job_id), fleet.devices.get(command.device_id)
    if job is None:
        return _no_reference("job_id", command.job_id, "Job not found")
    if device is None:
        return _no_reference("device_id", command.device_id, "Device not found")
    if (live := job.live.get(command.device_id)) is not None:
        return answer({"id": live})
    if (before := job.ran.get(command.device_id)) is not None:
        return _assign_again(fleet, job, command, before)
    if job.has_ended:
        return _not_open(job, command.job_id)
    if command.assignment_id in fleet.assignments or command.assignment_id in fleet.ended:
        return reject(
            Code.UNIQUE_VIOLATION, "An assignment with this id exists", field="id", value=command.assignment_id
        )
    return accept(AssignmentRequested(command.assignment_id, job.job_id, command.device_id), then=follow_up())


def _assign_again(fleet: Fleet, job: Job, command: AssignJob, before: str) -> Decision:
    """Assign a job again to a device where it has ended. This reopens a failed assignment with attempts left; all
    others are refused."""
    ended = fleet.ended[before]
    if job.is_open and ended.status is AssignmentStatus.FAILED and ended.failed < ATTEMPTS_MAX:
        return accept(AssignmentReopened(before, job.job_id, command.device_id), then=follow_up())
    return reject(
        Code.UNIQUE_VIOLATION,
        f"This job is already {ended.status} on this device",
        id=before,
        status=ended.status,
        field="device_id",
        value=command.device_id,
    )


def cancel_assignment(fleet: Fleet, command: CancelAssignment, now: datetime) -> Decision:
    assignment = fleet.assignments.get(command.assignment_id)
    if assignment is None:
        ended = fleet.ended.get(command.assignment_id)
        if ended is None:
            return reject(Code.NOT_FOUND, "Assignment not found", assignment_id=command.assignment_id)
        if ended.status is AssignmentStatus.CANCELLED:
            return NOTHING
        return reject(Code.CONFLICT, f"Assignment already {ended.status}", status=ended.status)
    if command.only_if not in (None, assignment.status):
        return reject(Code.CONFLICT, f"Assignment is {assignment.status}", status=assignment.status)
    if assignment.phase is Phase.RUNNING and not command.also_running:
        message = "A running assignment cannot be cancelled; it will finish"
        return reject(Code.CONFLICT, message, status=assignment.status)
    events: list[Event] = []
    if assignment.phase in (Phase.OFFERED, Phase.SENT):
        events.append(AttemptCancelled(*attempt_of(assignment), BY_A_PERSON))
    elif assignment.phase is Phase.RUNNING:
        events.append(AttemptRolledBack(*attempt_of(assignment), BY_A_PERSON))
    return accept(*events, AssignmentCancelled(*of(assignment), BY_A_PERSON), then=follow_up())
