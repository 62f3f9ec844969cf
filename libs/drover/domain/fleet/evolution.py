"""How the fleet's state follows from its events: `evolve`. Only what events say, never a rule of its own."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from drover.domain.event import TermStarted
from drover.domain.fleet import events as e
from drover.domain.fleet.index import (
    add_to_route,
    forget,
    look_for_devices,
    pcs_to_see,
    refresh,
    refresh_pc,
    refresh_withdrawal,
    see,
    settle,
    stop_looking,
)
from drover.domain.fleet.policy import ARCHIVE_AFTER, JOB_LIVES, OFFER_ACKED_WITHIN, OFFER_TAKEN_WITHIN
from drover.domain.fleet.state import (
    Assignment,
    AssignmentStatus,
    Device,
    DeviceError,
    Ended,
    Fleet,
    Job,
    JobSpec,
    JobStatus,
    Pc,
    Phase,
)

BY_A_PERSON: Final = "admin"
"""Cancelled for this reason, the job does not come back to the device by itself."""


def assignment_timer(assignment_id: str) -> str:
    return f"a:{assignment_id}"


def device_timer(device_id: str) -> str:
    return f"d:{device_id}"


def job_timer(job_id: str) -> str:
    return f"j:{job_id}"


def pc_timer(pc_id: str) -> str:
    return f"p:{pc_id}"


def alert_timer(key: str) -> str:
    return f"l:{key}"


# PCs and devices


def _pc_registered(fleet: Fleet, event: e.PcRegistered) -> None:
    pc = Pc(event.pc_id, event.capacity, event.at, event.at)
    fleet.pcs[event.pc_id] = pc
    supply = fleet.supply
    if supply is not None and supply.route is None and supply.cursor == len(fleet.pc_order):
        # Nobody is on it yet: the look has already seen it.
        supply.cursor += 1
        pc.seen_in = supply.look
    fleet.pc_order.append(event.pc_id)


def _pc_capacity_changed(fleet: Fleet, event: e.PcCapacityChanged) -> None:
    pc = fleet.pcs[event.pc_id]
    pc.capacity, pc.updated_at = event.capacity, event.at
    refresh_pc(fleet, pc)


def _pc_held(fleet: Fleet, event: e.PcHeld) -> None:
    pc = fleet.pcs[event.pc_id]
    pc.held_until, pc.updated_at = event.until, event.at
    pc.failing.clear()
    fleet.timers.set(pc_timer(pc.pc_id), event.until)
    _refresh_devices(fleet, pc)


def _pc_hold_ended(fleet: Fleet, event: e.PcHoldEnded) -> None:
    pc = fleet.pcs[event.pc_id]
    pc.held_until, pc.updated_at = None, event.at
    fleet.timers.clear(pc_timer(pc.pc_id))
    _refresh_devices(fleet, pc)


def _refresh_devices(fleet: Fleet, pc: Pc) -> None:
    for device_id in pc.devices:
        refresh(fleet, fleet.devices[device_id])


def _device_registered(fleet: Fleet, event: e.DeviceRegistered) -> None:
    device = Device(
        event.device_id,
        event.serial_number,
        event.group_id,
        event.pc_id,
        event.capabilities,
        event.at,
        event.at,
    )
    fleet.devices[event.device_id] = device
    fleet.device_by_serial[event.serial_number] = event.device_id
    _move_in(fleet, device)


def _device_changed(fleet: Fleet, event: e.DeviceChanged) -> None:
    device = fleet.devices[event.device_id]
    forget(fleet, device)
    del fleet.pcs[device.pc_id].devices[device.device_id]
    fleet.pcs[device.pc_id].failing.pop(device.device_id, None)
    del fleet.groups[device.group_id][device.device_id]
    device.group_id, device.pc_id, device.capabilities = event.group_id, event.pc_id, event.capabilities
    device.updated_at = event.at
    _move_in(fleet, device)


def _move_in(fleet: Fleet, device: Device) -> None:
    fleet.pcs[device.pc_id].devices[device.device_id] = None
    fleet.groups.setdefault(device.group_id, {})[device.device_id] = None
    device.countable = device.free = device.back = device.expected = False
    add_to_route(fleet, device)
    refresh(fleet, device)


def _device_came_online(fleet: Fleet, event: e.DeviceCameOnline) -> None:
    device = fleet.devices[event.device_id]
    device.alive, device.updated_at = True, event.at
    refresh(fleet, device)


def _device_went_offline(fleet: Fleet, event: e.DeviceWentOffline) -> None:
    device = fleet.devices[event.device_id]
    device.alive, device.updated_at = False, event.at
    refresh(fleet, device)


def _device_quarantined(fleet: Fleet, event: e.DeviceQuarantined) -> None:
    device = fleet.devices[event.device_id]
    device.error = DeviceError(event.rule, event.until, event.condition, event.job_id)
    device.updated_at = event.at
    if event.condition is None:
        fleet.pcs[device.pc_id].failing[device.device_id] = event.at
    _arm_device(fleet, device)
    refresh(fleet, device)


def _device_released(fleet: Fleet, event: e.DeviceReleased) -> None:
    _end_error(fleet, fleet.devices[event.device_id], event.at)


def _device_reset(fleet: Fleet, event: e.DeviceReset) -> None:
    device = fleet.devices[event.device_id]
    device.alive = False
    _end_error(fleet, device, event.at)


def _end_error(fleet: Fleet, device: Device, at: datetime) -> None:
    device.error, device.failures, device.crashes, device.updated_at = None, 0, 0, at
    fleet.pcs[device.pc_id].failing.pop(device.device_id, None)
    _arm_device(fleet, device)
    refresh(fleet, device)


def _device_held(fleet: Fleet, event: e.DeviceHeld) -> None:
    device = fleet.devices[event.device_id]
    device.held_until, device.untaken, device.updated_at = event.until, event.untaken, event.at
    _arm_device(fleet, device)
    refresh(fleet, device)


def _device_hold_ended(fleet: Fleet, event: e.DeviceHoldEnded) -> None:
    device = fleet.devices[event.device_id]
    device.held_until, device.updated_at = None, event.at
    _arm_device(fleet, device)
    refresh(fleet, device)


def _arm_device(fleet: Fleet, device: Device) -> None:
    error_ends = None if device.error is None else device.error.until
    moments = [at for at in (error_ends, device.held_until) if at is not None]
    if moments:
        fleet.timers.set(device_timer(device.device_id), min(moments))
    else:
        fleet.timers.clear(device_timer(device.device_id))


# Jobs


def _job_created(fleet: Fleet, event: e.JobCreated) -> None:
    fleet.jobs_made += 1
    fleet.open_jobs += 1
    job = Job(
        event.job_id,
        fleet.jobs_made,
        JobSpec(
            event.title,
            event.target_url,
            event.script_type,
            event.duration_min_pct,
            event.duration_max_pct,
            event.prob_like,
            event.prob_comment,
            event.prob_playlist,
            event.base_reward,
            event.target,
        ),
        event.at,
        event.at,
        event.is_active,
    )
    fleet.jobs[job.job_id] = job
    for device_id in (event.target and event.target.device_ids) or ():
        _name(fleet, job, fleet.devices[device_id])
    if event.is_active:
        _enqueue(fleet, job)
    fleet.timers.set(job_timer(job.job_id), event.at + JOB_LIVES)


def _name(fleet: Fleet, job: Job, device: Device) -> None:
    if device.device_id not in job.named:
        job.named[device.device_id] = None
        device.named_in[job.job_id] = None
        job.present += device.available
        fleet.unsettled = True


def _job_activated(fleet: Fleet, event: e.JobActivated) -> None:
    job = fleet.jobs[event.job_id]
    _dequeue(fleet, job)
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
    insort(fleet.queue, (job.number, job.job_id))
    fleet.unsettled = True


def _step_down(fleet: Fleet, job: Job) -> None:
    if fleet.supply is not None and fleet.supply.job_id == job.job_id:
        stop_looking(fleet)


def _dequeue(fleet: Fleet, job: Job) -> None:
    place = bisect_left(fleet.queue, (job.number, job.job_id))
    if place < len(fleet.queue) and fleet.queue[place][0] == job.number:
        del fleet.queue[place]
        fleet.unsettled = True


def _job_paused(fleet: Fleet, event: e.JobPaused) -> None:
    job = fleet.jobs[event.job_id]
    _step_down(fleet, job)
    _dequeue(fleet, job)
    job.status, job.paused_for, job.updated_at = JobStatus.PAUSED, event.rule, event.at
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
    _dequeue(fleet, job)
    job.status, job.ended_at, job.updated_at = status, at, at
    fleet.open_jobs -= 1
    for device_id in job.named:
        del fleet.devices[device_id].named_in[job_id]
    job.named, job.final_failures, job.present = {}, {}, 0
    fleet.timers.set(job_timer(job_id), at + ARCHIVE_AFTER)
    refresh_withdrawal(fleet, job)


def _job_archived(fleet: Fleet, event: e.JobArchived) -> None:
    job = fleet.jobs.pop(event.job_id)
    for assignment_id in (*job.ran.values(), *job.taken_back):
        fleet.ended.pop(assignment_id, None)
    fleet.timers.clear(job_timer(event.job_id))


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


# Assignments and attempts


def _assignment_requested(fleet: Fleet, event: e.AssignmentRequested) -> None:
    job, device = fleet.jobs[event.job_id], fleet.devices[event.device_id]
    _name(fleet, job, device)
    _make(fleet, job, device, event).asked_for = True
    add_to_route(fleet, device)
    refresh(fleet, device)


def _make(fleet: Fleet, job: Job, device: Device, event: e.AssignmentEvent) -> Assignment:
    assignment = Assignment(event.assignment_id, job.job_id, device.device_id, event.at)
    fleet.assignments[event.assignment_id] = assignment
    job.live[device.device_id] = event.assignment_id
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
    job.counted -= not ended.replaced
    job.failed -= 1
    assignment.run, assignment.failed, assignment.has_run = ended.run, ended.failed, True
    assignment.asked_for = True
    job.replaced -= ended.replaced
    del job.ran[device.device_id]
    _name(fleet, job, device)
    add_to_route(fleet, device)
    refresh(fleet, device)


def _attempt_created(fleet: Fleet, event: e.AttemptCreated) -> None:
    job, device = fleet.jobs[event.job_id], fleet.devices[event.device_id]
    assignment = fleet.assignments.get(event.assignment_id) or _make(fleet, job, device, event)
    if assignment.phase is Phase.WAITING:
        _take_slot(fleet, job, device, assignment)
    assignment.phase, assignment.run = Phase.OFFERED, event.run
    assignment.assigned_at, assignment.progress_pct, assignment.ad_playing = event.at, 0, False
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
    """From any phase that holds one into WAITING."""
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
    refresh_withdrawal(fleet, job)  # what runs may end, also while the rest is being taken back
    assignment.phase, assignment.has_run, assignment.started_at = Phase.RUNNING, True, event.at
    assignment.progress_pct, assignment.claimed_started_at = event.progress_pct, event.claimed_started_at
    device.running, device.untaken, device.updated_at = True, 0, event.at
    fleet.timers.set(assignment_timer(event.assignment_id), event.timeout_at)


def _attempt_progressed(fleet: Fleet, event: e.AttemptProgressed) -> None:
    assignment = fleet.assignments[event.assignment_id]
    assignment.progress_pct, assignment.ad_playing = event.progress_pct, event.ad_playing


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
    """The slot is kept: the event that follows says whether it is needed again."""
    assignment, device = fleet.assignments[event.assignment_id], fleet.devices[event.device_id]
    assignment.phase, assignment.failed = Phase.RETRYING, event.attempt
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
    _end_assignment(fleet, event, AssignmentStatus.FAILED, replaced=event.replaced)


def _assignment_cancelled(fleet: Fleet, event: e.AssignmentCancelled) -> None:
    comes_back = event.reason != BY_A_PERSON and not fleet.assignments[event.assignment_id].has_run
    if comes_back:
        fleet.jobs[event.job_id].counted -= 1
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
    # The ids of job and device are the ones already held: thousands of these are kept for a day.
    fleet.ended[assignment.assignment_id] = Ended(
        job.job_id, device.device_id, status, assignment.run, assignment.failed, replaced
    )
    device.updated_at = event.at
    refresh_withdrawal(fleet, job)
    refresh(fleet, device)


def _stale_report_refused(fleet: Fleet, event: e.StaleReportRefused) -> None:
    if (assignment := fleet.assignments.get(event.assignment_id)) is not None:
        assignment.stale_noted.append(event.run)
    else:
        fleet.ended[event.assignment_id].late_noted = True


# Alerts and terms


def _alert_raised(fleet: Fleet, event: e.AlertRaised) -> None:
    key = f"{event.kind}:{event.subject}"
    fleet.alerts[key] = event.alert_id
    if event.until is not None:
        fleet.timers.set(alert_timer(key), event.until)


def _alert_resolved(fleet: Fleet, event: e.AlertResolved) -> None:
    key = f"{event.kind}:{event.subject}"
    fleet.alerts.pop(key, None)
    fleet.timers.clear(alert_timer(key))


def _term_started(fleet: Fleet, event: TermStarted) -> None:
    """A change of writer says nothing about phones. While nobody led they could fetch and begin nothing, so that those
    who have an offer get their full time again."""
    for assignment in fleet.assignments.values():
        if assignment.phase is Phase.OFFERED:
            fleet.timers.set(assignment_timer(assignment.assignment_id), event.at + OFFER_TAKEN_WITHIN)
        elif assignment.phase is Phase.SENT:
            fleet.timers.set(assignment_timer(assignment.assignment_id), event.at + OFFER_ACKED_WITHIN)


_EVOLVE: Final[dict[type, Callable[[Fleet, Any], None]]] = {
    TermStarted: _term_started,
    e.PcRegistered: _pc_registered,
    e.PcCapacityChanged: _pc_capacity_changed,
    e.PcHeld: _pc_held,
    e.PcHoldEnded: _pc_hold_ended,
    e.DeviceRegistered: _device_registered,
    e.DeviceChanged: _device_changed,
    e.DeviceCameOnline: _device_came_online,
    e.DeviceWentOffline: _device_went_offline,
    e.DeviceQuarantined: _device_quarantined,
    e.DeviceReleased: _device_released,
    e.DeviceReset: _device_reset,
    e.DeviceHeld: _device_held,
    e.DeviceHoldEnded: _device_hold_ended,
    e.JobCreated: _job_created,
    e.JobActivated: _job_activated,
    e.JobReturned: _job_returned,
    e.JobPaused: _job_paused,
    e.JobResumed: _job_resumed,
    e.JobDeactivated: _job_deactivated,
    e.JobCancelled: _job_cancelled,
    e.JobExpired: _job_expired,
    e.JobCompleted: _job_completed,
    e.JobArchived: _job_archived,
    e.JobNeedAdded: _job_need_added,
    e.SupplyAdvanced: _supply_advanced,
    e.AssignmentRequested: _assignment_requested,
    e.AssignmentReopened: _assignment_reopened,
    e.AssignmentParked: _assignment_parked,
    e.AssignmentCancelled: _assignment_cancelled,
    e.AttemptCreated: _attempt_created,
    e.AttemptSent: _attempt_sent,
    e.AttemptStarted: _attempt_started,
    e.AttemptProgressed: _attempt_progressed,
    e.AttemptSucceeded: _attempt_succeeded,
    e.AttemptFailed: _attempt_failed,
    e.AttemptTimedOut: _attempt_timed_out,
    e.AttemptRolledBack: _attempt_rolled_back,
    e.AttemptCancelled: _attempt_cancelled,
    e.RetryScheduled: _retry_scheduled,
    e.AttemptFailedFinal: _attempt_failed_final,
    e.StaleReportRefused: _stale_report_refused,
    e.AlertRaised: _alert_raised,
    e.AlertResolved: _alert_resolved,
}


def evolve(fleet: Fleet, event: e.FleetEvent) -> Fleet:
    _EVOLVE[type(event)](fleet, event)
    if fleet.unsettled:
        settle(fleet)
    return fleet
