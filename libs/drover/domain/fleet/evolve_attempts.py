"""Applies the events of assignments and attempts to the state: phases, slots, and what is kept of ended assignments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from drover.domain.event import TermStarted
from drover.domain.fleet import events as e
from drover.domain.fleet.evolve_past import note_past, shed_taken_back
from drover.domain.fleet.index import (
    add_to_route,
    refresh,
    refresh_reopening,
    refresh_withdrawal,
)
from drover.domain.fleet.naming import name_device
from drover.domain.fleet.policy import OFFER_ACKED_WITHIN, OFFER_TAKEN_WITHIN
from drover.domain.fleet.schedule import arm_schedule
from drover.domain.fleet.state import (
    Assignment,
    AssignmentStatus,
    Device,
    Ended,
    Fleet,
    Job,
    JobStatus,
    Phase,
)
from drover.domain.fleet.timer_keys import assignment_timer
from drover.domain.wall_clock import note_ahead

BY_A_PERSON: Final = "admin"
"""The reason in the event when a person cancels an assignment. The device does not get this job again automatically."""


def _term_started(fleet: Fleet, event: TermStarted) -> None:
    """Restart the timers of all offers. While the partition had no leader, phones could not fetch or start anything, so
    their delay does not count against them. Scheduled jobs follow the wall clock, which may have been set."""
    note_ahead(fleet, event)
    for job in fleet.jobs.values():
        if job.is_scheduled:
            arm_schedule(fleet, job)
    for assignment in fleet.assignments.values():
        if assignment.phase is Phase.OFFERED:
            fleet.timers.set(assignment_timer(assignment.assignment_id), event.at + OFFER_TAKEN_WITHIN)
        elif assignment.phase is Phase.SENT:
            fleet.timers.set(assignment_timer(assignment.assignment_id), event.at + OFFER_ACKED_WITHIN)


def _assignment_requested(fleet: Fleet, event: e.AssignmentRequested) -> None:
    job, device = fleet.jobs[event.job_id], fleet.devices[event.device_id]
    name_device(fleet, job, device)
    _make(fleet, job, device, event).asked_for = True
    add_to_route(fleet, device)
    refresh(fleet, device)


def _make(fleet: Fleet, job: Job, device: Device, event: e.AssignmentEvent) -> Assignment:
    assignment = Assignment(event.assignment_id, job.job_id, device.device_id, event.at)
    fleet.assignments[event.assignment_id] = assignment
    job.live[device.device_id] = event.assignment_id
    if job.cut_off.pop(device.device_id, None) is not None:
        refresh_reopening(fleet, job)
    job.waiting[event.assignment_id] = None
    job.made += 1
    job.counted += 1
    job.returned_at = None
    fleet.unsettled = True
    return assignment


def _assignment_reopened(fleet: Fleet, event: e.AssignmentReopened) -> None:
    job, device = fleet.jobs[event.job_id], fleet.devices[event.device_id]
    ended = fleet.ended.pop(event.assignment_id)
    assignment = _make(fleet, job, device, event)
    job.made -= 1
    if ended.status is AssignmentStatus.CANCELLED:  # `_job_reopened` has removed it from the counts
        del job.taken_back[event.assignment_id]
    else:
        job.counted -= not ended.replaced
        job.failed -= 1
        job.replaced -= ended.replaced
        del job.ran[device.device_id]
        job.given_up_by.pop(device.device_id, None)
    assignment.run, assignment.failed, assignment.has_run = ended.run, ended.failed, ended.failed > 0
    assignment.failures = ended.failures
    assignment.asked_for = True
    name_device(fleet, job, device)
    add_to_route(fleet, device)
    refresh(fleet, device)


def _attempt_created(fleet: Fleet, event: e.AttemptCreated) -> None:
    job, device = fleet.jobs[event.job_id], fleet.devices[event.device_id]
    assignment = fleet.assignments.get(event.assignment_id) or _make(fleet, job, device, event)
    if assignment.phase is Phase.WAITING:
        _take_slot(fleet, job, device, assignment)
    assignment.phase, assignment.run = Phase.OFFERED, event.run
    assignment.assigned_at, assignment.progress_pct, assignment.ad_playing = event.at, 0, False
    assignment.by_pc = False
    assignment.sent_at = assignment.started_at = assignment.claimed_started_at = assignment.retry_due = None
    fleet.pcs[device.pc_id].offered[assignment.assignment_id] = None
    fleet.timers.set(assignment_timer(assignment.assignment_id), event.at + OFFER_TAKEN_WITHIN)
    refresh(fleet, device)


def _take_slot(fleet: Fleet, job: Job, device: Device, assignment: Assignment) -> None:
    job.waiting.pop(assignment.assignment_id)
    job.offered[assignment.assignment_id] = None
    job.in_flight += 1
    device.assignment = assignment.assignment_id
    fleet.pcs[device.pc_id].in_use += 1


def _release_slot(fleet: Fleet, job: Job, device: Device, assignment: Assignment) -> None:
    """Take the slot from an assignment in any phase, and set its phase to WAITING."""
    if assignment.phase is Phase.WAITING:
        return
    pc = fleet.pcs[device.pc_id]
    pc.in_use -= 1
    pc.offered.pop(assignment.assignment_id, None)
    job.in_flight -= 1
    job.offered.pop(assignment.assignment_id, None)
    job.waiting[assignment.assignment_id] = None
    device.assignment, device.running = None, False
    assignment.phase, assignment.assigned_at = Phase.WAITING, None
    fleet.timers.clear(assignment_timer(assignment.assignment_id))


def _attempt_sent(fleet: Fleet, event: e.AttemptSent) -> None:
    assignment = fleet.assignments[event.assignment_id]
    assignment.phase, assignment.sent_at = Phase.SENT, event.at
    fleet.pcs[fleet.devices[event.device_id].pc_id].offered.pop(event.assignment_id, None)
    fleet.timers.set(assignment_timer(event.assignment_id), event.at + OFFER_ACKED_WITHIN)


def _attempt_started(fleet: Fleet, event: e.AttemptStarted) -> None:
    assignment, device = fleet.assignments[event.assignment_id], fleet.devices[event.device_id]
    job = fleet.jobs[event.job_id]
    job.offered.pop(event.assignment_id)
    refresh_withdrawal(fleet, job)  # it is no longer an offer that can be withdrawn
    assignment.phase, assignment.has_run, assignment.started_at = Phase.RUNNING, True, event.at
    assignment.progress_pct, assignment.claimed_started_at = event.progress_pct, event.claimed_started_at
    assignment.by_pc = event.by_pc
    device.running, device.untaken, device.updated_at = True, 0, event.at
    fleet.timers.set(assignment_timer(event.assignment_id), event.timeout_at)


def _attempt_progressed(fleet: Fleet, event: e.AttemptProgressed) -> None:
    assignment = fleet.assignments[event.assignment_id]
    assignment.progress_pct, assignment.ad_playing = event.progress_pct, event.ad_playing
    assignment.claimed_started_at = assignment.claimed_started_at or event.claimed_started_at


def _attempt_error_noted(fleet: Fleet, event: e.AttemptErrorNoted) -> None:
    assignment = fleet.assignments[event.assignment_id]
    assignment.error_code, assignment.error_message = event.code, event.message


def _attempt_succeeded(fleet: Fleet, event: e.AttemptSucceeded) -> None:
    device = fleet.devices[event.device_id]
    device.failures = device.crashes = 0
    fleet.pcs[device.pc_id].failing.pop(device.device_id, None)
    job = fleet.jobs[event.job_id]
    job.completed += 1
    if device.pc_id not in job.proven_on and len(job.proven_on) < 2:
        job.proven_on.append(device.pc_id)
    _end_assignment(fleet, event, AssignmentStatus.COMPLETED)


def _attempt_failed(fleet: Fleet, event: e.AttemptFailed) -> None:
    _note_failure(fleet, event, event.code, event.message, blamed=event.blamed, crashed=event.rule == "APP_CRASH")


def _attempt_timed_out(fleet: Fleet, event: e.AttemptTimedOut) -> None:
    _note_failure(fleet, event, "TIMEOUT", event.message, blamed=event.blamed, crashed=False)


def _note_failure(
    fleet: Fleet, event: e.AttemptEvent, code: str, message: str | None, *, blamed: bool, crashed: bool
) -> None:
    """Record a failed attempt in its assignment and device. The assignment keeps its slot, because the next event tells
    whether it will be retried."""
    assignment, device = fleet.assignments[event.assignment_id], fleet.devices[event.device_id]
    assignment.phase, assignment.failed = Phase.RETRYING, event.attempt
    assignment.failures = (*assignment.failures, (event.run, event.attempt))
    assignment.error_code, assignment.error_message = code, message
    assignment.progress_pct, assignment.ad_playing = 0, False
    fleet.jobs[event.job_id].offered[event.assignment_id] = None
    device.running, device.updated_at = False, event.at
    if blamed:
        device.failures += 1
        device.crashes = device.crashes + 1 if crashed else 0
    fleet.timers.clear(assignment_timer(event.assignment_id))


def _retry_scheduled(fleet: Fleet, event: e.RetryScheduled) -> None:
    assignment = fleet.assignments[event.assignment_id]
    if event.due is None:
        _wait(fleet, event)
        return
    assignment.retry_due = event.due
    fleet.timers.set(assignment_timer(event.assignment_id), event.due)
    refresh_withdrawal(fleet, fleet.jobs[event.job_id])


def _attempt_rolled_back(fleet: Fleet, event: e.AttemptRolledBack) -> None:
    assignment = fleet.assignments[event.assignment_id]
    assignment.rollbacks += 1
    assignment.progress_pct, assignment.ad_playing = 0, False
    fleet.devices[event.device_id].updated_at = event.at
    _wait(fleet, event)


def _attempt_cancelled(fleet: Fleet, event: e.AttemptCancelled) -> None:
    _wait(fleet, event)


def _assignment_parked(fleet: Fleet, event: e.AssignmentParked) -> None:
    _wait(fleet, event)


def _wait(fleet: Fleet, event: e.AssignmentEvent) -> None:
    job, device = fleet.jobs[event.job_id], fleet.devices[event.device_id]
    assignment = fleet.assignments[event.assignment_id]
    _release_slot(fleet, job, device, assignment)
    assignment.retry_due = None
    refresh_withdrawal(fleet, job)
    refresh(fleet, device)


def _attempt_failed_final(fleet: Fleet, event: e.AttemptFailedFinal) -> None:
    job = fleet.jobs[event.job_id]
    job.failed += 1
    job.counted -= event.replaced
    job.replaced += event.replaced
    if job.is_open:
        job.final_failures.setdefault(event.rule, []).append(event.device_id)
        if event.counts:
            job.given_up_by[event.device_id] = None
    _end_assignment(fleet, event, AssignmentStatus.FAILED, replaced=event.replaced)


def _assignment_cancelled(fleet: Fleet, event: e.AssignmentCancelled) -> None:
    job, assignment = fleet.jobs[event.job_id], fleet.assignments[event.assignment_id]
    comes_back = event.reason != BY_A_PERSON and not assignment.has_run
    if comes_back:
        job.counted -= 1
    if assignment.asked_for and job.status is JobStatus.DEACTIVATED and event.reason != BY_A_PERSON:
        job.cut_off[event.device_id] = event.assignment_id
    _end_assignment(fleet, event, AssignmentStatus.CANCELLED, comes_back=comes_back)


def _end_assignment(
    fleet: Fleet,
    event: e.AssignmentEvent,
    status: AssignmentStatus,
    *,
    replaced: bool = False,
    comes_back: bool = False,
) -> None:
    job, device = fleet.jobs[event.job_id], fleet.devices[event.device_id]
    assignment = fleet.assignments[event.assignment_id]
    _release_slot(fleet, job, device, assignment)
    del fleet.assignments[event.assignment_id]
    job.waiting.pop(event.assignment_id)
    del job.live[device.device_id]
    if comes_back:
        job.taken_back[assignment.assignment_id] = None
    else:
        job.ran[device.device_id] = assignment.assignment_id
    # Reuse the id objects of job and device to save memory: thousands of these records are kept.
    fleet.ended[assignment.assignment_id] = Ended(
        job.job_id, device.device_id, status, assignment.run, assignment.failed, replaced, failures=assignment.failures
    )
    shed_taken_back(fleet, job, most=2)  # at most one was added, so looking at two lets an excess shrink
    note_past(fleet, job, event.at)
    device.updated_at = event.at
    refresh_withdrawal(fleet, job)
    refresh(fleet, device)


def _stale_report_refused(fleet: Fleet, event: e.StaleReportRefused) -> None:
    if (assignment := fleet.assignments.get(event.assignment_id)) is not None:
        assignment.stale_noted.append(event.run)
    elif (ended := fleet.ended.get(event.assignment_id)) is not None:
        ended.late_noted = True


EVOLVE: Final[dict[type, Callable[[Fleet, Any], None]]] = {
    TermStarted: _term_started,
    e.AssignmentRequested: _assignment_requested,
    e.AssignmentReopened: _assignment_reopened,
    e.AssignmentParked: _assignment_parked,
    e.AssignmentCancelled: _assignment_cancelled,
    e.AttemptCreated: _attempt_created,
    e.AttemptSent: _attempt_sent,
    e.AttemptStarted: _attempt_started,
    e.AttemptProgressed: _attempt_progressed,
    e.AttemptErrorNoted: _attempt_error_noted,
    e.AttemptSucceeded: _attempt_succeeded,
    e.AttemptFailed: _attempt_failed,
    e.AttemptTimedOut: _attempt_timed_out,
    e.AttemptRolledBack: _attempt_rolled_back,
    e.AttemptCancelled: _attempt_cancelled,
    e.RetryScheduled: _retry_scheduled,
    e.AttemptFailedFinal: _attempt_failed_final,
    e.StaleReportRefused: _stale_report_refused,
}
