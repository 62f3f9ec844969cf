"""Decides the reports of agents. A report about a run that has ended is refused; the first such report of a run is
recorded."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from msgspec.structs import replace

from drover.domain.alerts import raise_alert
from drover.domain.decider import NOTHING, Decision, Rejection, accept, refuse_recording, reject
from drover.domain.errors import Code
from drover.domain.event import Event
from drover.domain.fleet.alerts import RATE_LIMITED
from drover.domain.fleet.commands import (
    Report,
    ReportCompleted,
    ReportFailed,
    ReportPending,
    ReportRunning,
    ReportThrottled,
)
from drover.domain.fleet.events import (
    AssignmentReopened,
    AttemptErrorNoted,
    AttemptProgressed,
    AttemptSucceeded,
    StaleReportRefused,
)
from drover.domain.fleet.failure import Failure, fail
from drover.domain.fleet.policy import ATTEMPTS_MAX, DURATION_S_MAX, MESSAGE_BYTES_MAX, THROTTLE_ALERT_LASTS
from drover.domain.fleet.presence import roll_back
from drover.domain.fleet.registration import unknown_device
from drover.domain.fleet.starts import STARTABLE, begin
from drover.domain.fleet.state import Assignment, AssignmentStatus, Ended, Fleet, Phase, attempt_of_run
from drover.domain.fleet.supply import follow_up
from drover.domain.fleet.validation import ends_before_it_began
from drover.domain.fleet.withdrawal import attempt_of, where
from drover.domain.texts import cut

PROGRESS_STEP = 10
GIVEN_BACK = "given_back"
GIVEN_BACK_TOO_OFTEN = Failure("TASK_DEVICE_FAILED", "The agent gave this back three times")


def report_running(fleet: Fleet, command: ReportRunning, now: datetime) -> Decision:
    assignment = _reported(fleet, command, AssignmentStatus.RUNNING)
    if isinstance(assignment, Decision):
        return assignment
    progress = command.progress_pct or 0
    if assignment.phase is not Phase.RUNNING:
        started = begin(fleet, assignment, now, progress=progress, claimed_at=command.started_at, by_pc=command.by_pc)
        return accept(*started, then=None if command.error_code is None else partial(_note_error, command))
    if command.error_code is not None:
        return _erred(fleet, assignment, command, now)
    stepped = progress // PROGRESS_STEP > assignment.progress_pct // PROGRESS_STEP
    # The claim of a PC starts a run. Its runner may report later when the work really began.
    started_at = command.started_at if assignment.claimed_started_at is None else None
    if not stepped and command.ad_playing is assignment.ad_playing and started_at is None:
        return NOTHING  # progress between two steps is telemetry
    progress = max(progress, assignment.progress_pct)
    return accept(AttemptProgressed(*attempt_of(assignment), progress, command.ad_playing, started_at))


def _note_error(command: ReportRunning, fleet: Fleet, now: datetime) -> Decision:
    """Record an error that came with the start of a run."""
    return accept(_noted(fleet.assignments[command.assignment_id], command))


def _noted(assignment: Assignment, command: ReportRunning) -> AttemptErrorNoted:
    assert command.error_code is not None
    message = cut(command.error_message, MESSAGE_BYTES_MAX)
    return AttemptErrorNoted(*attempt_of(assignment), command.error_code, message)


def _erred(fleet: Fleet, assignment: Assignment, command: ReportRunning, now: datetime) -> Decision:
    """Record an error that the agent reports while it works. If the report shows that the agent is retrying the work
    already, without a new offer, the current run fails and the next run begins."""
    if command.progress_pct != 0 and (command.retry_count or 0) <= assignment.failed:
        if (assignment.error_code, assignment.error_message) == (command.error_code, command.error_message):
            return NOTHING
        return accept(_noted(assignment, command))
    failure = _failure(command, assignment)
    failed = fail(fleet, assignment, failure, now, is_last=_is_last(command.retry_count))
    return accept(*failed, then=partial(_begin_again, command))


def _begin_again(command: ReportRunning, fleet: Fleet, now: datetime) -> Decision:
    """Begin the next run, if retries are left: the agent has started again without waiting until the retry was due."""
    assignment = fleet.assignments.get(command.assignment_id)
    begun: list[Event] = []
    if assignment is not None and assignment.phase is Phase.RETRYING:
        begun = begin(fleet, assignment, now, claimed_at=command.started_at, by_pc=command.by_pc)
    return Decision(events=begun, then=follow_up()) if begun else follow_up()(fleet, now)


def report_pending(fleet: Fleet, command: ReportPending, now: datetime) -> Decision:
    """Take running work back, and open failed work again. Pending work stays as it is."""
    ended = fleet.ended.get(command.assignment_id)
    if ended is not None and command.as_device in (None, ended.device_id):
        return _reopen(fleet, command, ended)
    assignment = fleet.assignments.get(command.assignment_id)
    if assignment is not None and command.run is None and assignment.phase is not Phase.RUNNING:
        if command.as_device not in (None, assignment.device_id):
            return reject(Code.NOT_FOUND, "Assignment not found")
        return NOTHING
    found = _reported(fleet, command, AssignmentStatus.PENDING)
    if isinstance(found, Decision):
        return found
    if found.phase is not Phase.RUNNING:
        return NOTHING
    return accept(*roll_back(fleet, found, now, GIVEN_BACK, GIVEN_BACK_TOO_OFTEN), then=follow_up())


def _reopen(fleet: Fleet, command: ReportPending, ended: Ended) -> Decision:
    job = fleet.jobs[ended.job_id]
    is_current = job.ran.get(ended.device_id) == command.assignment_id
    if ended.status is not AssignmentStatus.FAILED or ended.failed >= ATTEMPTS_MAX or not (job.is_open and is_current):
        return _after_the_end(command, ended, AssignmentStatus.PENDING)
    return accept(AssignmentReopened(command.assignment_id, ended.job_id, ended.device_id), then=follow_up())


def report_completed(fleet: Fleet, command: ReportCompleted, now: datetime) -> Decision:
    assignment = _reported(fleet, command, AssignmentStatus.COMPLETED)
    if isinstance(assignment, Decision):
        return assignment
    claimed_start = command.started_at or assignment.claimed_started_at
    if refusal := ends_before_it_began(claimed_start, command.completed_at):
        return Decision(rejection=refusal)
    assert assignment.assigned_at is not None
    begun_at = assignment.started_at or now
    succeeded = AttemptSucceeded(
        *attempt_of(assignment),
        assigned_at=assignment.assigned_at,
        started_at=begun_at,
        actual_duration_sec=command.actual_duration_sec
        or _duration(claimed_start, command.completed_at, begun_at, now),
        did_like=command.did_like,
        did_comment=command.did_comment,
        did_playlist=command.did_playlist,
        claimed_completed_at=command.completed_at,
    )
    begun = begin(fleet, assignment, now, claimed_at=command.started_at)
    return accept(*begun, succeeded, then=follow_up())


def _duration(started: datetime | None, completed: datetime | None, begun_at: datetime, now: datetime) -> int:
    """Return the duration in whole seconds, at least one. Uses the agent's times if it reported both."""
    lasted = completed - started if started is not None and completed is not None else now - begun_at
    return min(max(1, round(lasted.total_seconds())), DURATION_S_MAX)


def report_failed(fleet: Fleet, command: ReportFailed, now: datetime) -> Decision:
    assignment = _reported(fleet, command, AssignmentStatus.FAILED)
    if isinstance(assignment, Decision):
        return assignment
    failure = replace(
        _failure(command, assignment), screenshot_ref=command.screenshot_ref, activity_stack=command.activity_stack
    )
    failed = fail(fleet, assignment, failure, now, is_last=_is_last(command.retry_count))
    return accept(*begin(fleet, assignment, now), *failed, then=follow_up())


def _failure(command: ReportFailed | ReportRunning, assignment: Assignment) -> Failure:
    """Make the failure that was reported, and say how far the report is to be trusted."""
    assert command.error_code is not None
    named = command.names_run and command.run == assignment.run
    return Failure(
        command.error_code,
        command.error_message,
        is_proven=named or command.as_device == assignment.device_id or command.farm_is_open,
        is_enough=command.farm_is_open,
    )


def _is_last(retry_count: int | None) -> bool:
    return retry_count is not None and retry_count >= ATTEMPTS_MAX


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
    if command.only_if not in (None, assignment.status):
        return reject(Code.CONFLICT, f"Assignment is {assignment.status}", status=assignment.status.value)
    starts = status is AssignmentStatus.RUNNING and assignment.phase in STARTABLE
    if command.run is None:
        fits = starts or assignment.phase in (Phase.RUNNING, Phase.SENT)
        return assignment if fits else _not_running(fleet, assignment)
    if command.run > assignment.run:
        return reject(Code.CONFLICT, "This run does not exist yet", run=command.run, current_run=assignment.run)
    if command.run == assignment.run and assignment.phase in (Phase.SENT, Phase.RUNNING):
        return assignment
    if command.run == assignment.run and assignment.phase is Phase.OFFERED:
        return assignment if starts else _not_running(fleet, assignment)
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
    alert = raise_alert(fleet, RATE_LIMITED, device.device_id, message, now, until=until, **where(device))
    return accept(*alert)
