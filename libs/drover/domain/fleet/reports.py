"""Decides the reports of agents. A report about a run that has ended is refused; the first such report of a run is
recorded."""

from __future__ import annotations

from datetime import datetime

from drover.domain.alerts import raise_alert, resolve_alert
from drover.domain.decider import NOTHING, Decision, Rejection, accept, refuse_recording, reject
from drover.domain.errors import Code
from drover.domain.event import Event
from drover.domain.fleet.alerts import OFFERS_UNTAKEN, RATE_LIMITED
from drover.domain.fleet.commands import Report, ReportCompleted, ReportFailed, ReportRunning, ReportThrottled
from drover.domain.fleet.events import (
    AttemptProgressed,
    AttemptStarted,
    AttemptSucceeded,
    StaleReportRefused,
)
from drover.domain.fleet.failure import Failure, fail
from drover.domain.fleet.policy import ATTEMPT_TIMEOUT, THROTTLE_ALERT_LASTS
from drover.domain.fleet.registration import unknown_device
from drover.domain.fleet.state import Assignment, AssignmentStatus, Ended, Fleet, Phase, attempt_of_run
from drover.domain.fleet.supply import follow_up
from drover.domain.fleet.validation import ends_before_it_began
from drover.domain.fleet.withdrawal import attempt_of, where

PROGRESS_STEP = 10


def report_running(fleet: Fleet, command: ReportRunning, now: datetime) -> Decision:
    assignment = _reported(fleet, command, AssignmentStatus.RUNNING)
    if isinstance(assignment, Decision):
        return assignment
    progress = command.progress_pct or 0
    if assignment.phase is Phase.SENT:
        return accept(*_started(fleet, assignment, progress, command.started_at))
    stepped = progress // PROGRESS_STEP > assignment.progress_pct // PROGRESS_STEP
    if not stepped and command.ad_playing is assignment.ad_playing:
        return NOTHING  # progress between two steps is telemetry
    progress = max(progress, assignment.progress_pct)
    return accept(AttemptProgressed(*attempt_of(assignment), progress, command.ad_playing))


def _started(fleet: Fleet, assignment: Assignment, progress: int, claimed: datetime | None) -> list[Event]:
    assert assignment.sent_at is not None
    started = AttemptStarted(*attempt_of(assignment), progress, claimed, assignment.sent_at + ATTEMPT_TIMEOUT)
    return [started, *resolve_alert(fleet.alerts, OFFERS_UNTAKEN, assignment.device_id, "taken")]


def report_completed(fleet: Fleet, command: ReportCompleted, now: datetime) -> Decision:
    assignment = _reported(fleet, command, AssignmentStatus.COMPLETED)
    if isinstance(assignment, Decision):
        return assignment
    claimed_start = command.started_at or assignment.claimed_started_at
    if refusal := ends_before_it_began(claimed_start, command.completed_at):
        return Decision(rejection=refusal)
    assert command.actual_duration_sec is not None
    assert assignment.assigned_at is not None
    succeeded = AttemptSucceeded(
        *attempt_of(assignment),
        assigned_at=assignment.assigned_at,
        started_at=assignment.started_at or now,
        actual_duration_sec=command.actual_duration_sec,
        did_like=command.did_like,
        did_comment=command.did_comment,
        did_playlist=command.did_playlist,
        claimed_completed_at=command.completed_at,
    )
    return accept(*_begun(fleet, assignment, command.started_at), succeeded, then=follow_up())


def report_failed(fleet: Fleet, command: ReportFailed, now: datetime) -> Decision:
    assignment = _reported(fleet, command, AssignmentStatus.FAILED)
    if isinstance(assignment, Decision):
        return assignment
    assert command.error_code is not None
    failure = Failure(command.error_code, command.error_message, command.screenshot_ref, command.activity_stack)
    return accept(*_begun(fleet, assignment, None), *fail(fleet, assignment, failure, now), then=follow_up())


def _begun(fleet: Fleet, assignment: Assignment, claimed: datetime | None) -> list[Event]:
    """Make the event that the attempt started, if its end is reported before its start was."""
    return [] if assignment.phase is Phase.RUNNING else _started(fleet, assignment, 0, claimed)


def _reported(fleet: Fleet, command: Report, status: AssignmentStatus) -> Assignment | Decision:
    """Find the assignment if the report is about its current run. Otherwise return the refusal."""
    assignment = fleet.assignments.get(command.assignment_id)
    ended = fleet.ended.get(command.assignment_id) if assignment is None else None
    owner = assignment or ended
    if owner is None or command.as_device not in (None, owner.device_id):
        return reject(Code.NOT_FOUND, "Assignment not found")
    if ended is not None:
        return _after_the_end(command, ended, status)
    assert assignment is not None
    if command.run is None:
        fits = assignment.phase is Phase.RUNNING or (
            assignment.phase is Phase.SENT and status is AssignmentStatus.RUNNING
        )
        return assignment if fits else _not_running(fleet, assignment)
    if command.run > assignment.run:
        return reject(Code.CONFLICT, "This run does not exist yet", run=command.run, current_run=assignment.run)
    if command.run == assignment.run and assignment.phase in (Phase.SENT, Phase.RUNNING):
        return assignment
    if command.run == assignment.run and assignment.phase is Phase.OFFERED:
        return _not_running(fleet, assignment)
    return _stale(command, command.run, status, assignment, noted=command.run in assignment.stale_noted)


def _not_running(fleet: Fleet, assignment: Assignment) -> Decision:
    device = fleet.devices[assignment.device_id]
    details = {"status": assignment.status.value}
    if device.running and device.assignment != assignment.assignment_id:
        return reject(Code.CONFLICT, "The device runs something else", **details, rule="V006")
    return reject(Code.CONFLICT, "Assignment is not running", **details)


def _after_the_end(command: Report, ended: Ended, status: AssignmentStatus) -> Decision:
    if command.run is None or (command.run >= ended.run and status is ended.status):
        return reject(Code.CONFLICT, f"Assignment already {ended.status}", status=ended.status.value)
    return _stale(command, command.run, status, ended, noted=ended.late_noted)


def _stale(command: Report, run: int, status: AssignmentStatus, owner: Assignment | Ended, *, noted: bool) -> Decision:
    refused = StaleReportRefused(
        assignment_id=command.assignment_id,
        job_id=owner.job_id,
        device_id=owner.device_id,
        run=run,
        attempt=attempt_of_run(owner, run),
        status=status.value,
        current_run=owner.run,
    )
    rejection = stale_rejection(refused)
    return Decision(rejection=rejection) if noted else refuse_recording(rejection, refused)


def stale_rejection(event: StaleReportRefused) -> Rejection:
    message = f"Run {event.run} of this assignment is over"
    return Rejection(Code.STALE_ATTEMPT, message, {"run": event.run, "current_run": event.current_run})


def report_throttled(fleet: Fleet, command: ReportThrottled, now: datetime) -> Decision:
    device = fleet.devices.get(command.device_id)
    if device is None:
        return unknown_device(command.device_id)
    until = now + THROTTLE_ALERT_LASTS
    message = f"Device {device.serial_number} sends too many requests: they are blocked for 5 minutes"
    alert = raise_alert(fleet.alerts, RATE_LIMITED, device.device_id, message, now, until=until, **where(device))
    return accept(*alert)
