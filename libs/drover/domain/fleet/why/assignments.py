"""Explains an assignment's status, by its phase."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from drover.domain.fleet.policy import ATTEMPT_TIMEOUT, ATTEMPTS_MAX, OFFER_ACKED_WITHIN, OFFER_TAKEN_WITHIN
from drover.domain.fleet.state import Assignment, AssignmentStatus, Ended, Fleet, Phase
from drover.domain.fleet.why.formatting import Reason, count, due, moment, reason
from drover.domain.fleet.why.holds import device_holds, has_turn, job_holds, missing, slot_holds, withdrawal


def why_assignment(fleet: Fleet, assignment: Assignment, now: datetime) -> list[Reason]:
    return _PHASES[assignment.phase](fleet, assignment, now)


def why_ended(assignment_id: str, ended: Ended) -> Reason:
    how = {
        AssignmentStatus.COMPLETED: f"completed on attempt {ended.failed + 1}",
        AssignmentStatus.FAILED: f"failed permanently after {count(ended.failed, 'attempt')}",
    }.get(ended.status, "was cancelled")
    return reason(
        f"assignment_{ended.status}",
        f"Assignment {assignment_id} {how}.",
        job_id=ended.job_id,
        device_id=ended.device_id,
        run=ended.run,
        failed_attempts=ended.failed,
    )


def _waiting(fleet: Fleet, assignment: Assignment, now: datetime) -> list[Reason]:
    job, device = fleet.jobs[assignment.job_id], fleet.devices[assignment.device_id]
    reasons = job_holds(fleet, job) + device_holds(fleet, device, now)
    reasons += slot_holds(fleet, job, device) if has_turn(fleet, job) else missing(job, device)
    return reasons or [reason("nothing", f"Nothing blocks assignment {assignment.assignment_id}: it is next.")]


def _retrying(fleet: Fleet, assignment: Assignment, now: datetime) -> list[Reason]:
    code = assignment.error_code
    sentence = f"Attempt {assignment.attempt} of {ATTEMPTS_MAX} is due {due(assignment.retry_due, now)}"
    sentence += f": the previous one failed with {code}." if code else "."
    data = {"due_at": assignment.retry_due, "attempt": assignment.attempt, "error_code": code}
    return [*withdrawal(fleet, fleet.jobs[assignment.job_id]), reason("retry_due", sentence, **data)]


def _offered(fleet: Fleet, assignment: Assignment, now: datetime) -> list[Reason]:
    at = assignment.assigned_at
    until = None if at is None else at + OFFER_TAKEN_WITHIN
    stage = f"has not fetched it yet: offered at {moment(at)}"
    return _not_begun(fleet, assignment, now, "offer_not_fetched", stage, offered_at=at, until=until)


def _sent(fleet: Fleet, assignment: Assignment, now: datetime) -> list[Reason]:
    at = assignment.sent_at
    until = None if at is None else at + OFFER_ACKED_WITHIN
    stage = f"has fetched it but not started it: sent at {moment(at)}"
    return _not_begun(fleet, assignment, now, "sent_not_begun", stage, sent_at=at, until=until)


def _not_begun(
    fleet: Fleet, assignment: Assignment, now: datetime, code: str, stage: str, **times: datetime | None
) -> list[Reason]:
    device = fleet.devices[assignment.device_id]
    sentence = f"Device {device.serial_number} {stage}, expires {due(times['until'], now)}."
    return [
        *withdrawal(fleet, fleet.jobs[assignment.job_id]),
        reason(code, sentence, device_id=device.device_id, **times),
        *device_holds(fleet, device, now),
    ]


def _running(fleet: Fleet, assignment: Assignment, now: datetime) -> list[Reason]:
    device = fleet.devices[assignment.device_id]
    until = None if assignment.sent_at is None else assignment.sent_at + ATTEMPT_TIMEOUT
    sentence = (
        f"Attempt {assignment.attempt} of {ATTEMPTS_MAX} has been running on device {device.serial_number} since "
        f"{moment(assignment.started_at)}: now at {assignment.progress_pct} %; it times out {due(until, now)}."
    )
    running = reason(
        "running",
        sentence,
        device_id=device.device_id,
        attempt=assignment.attempt,
        run=assignment.run,
        started_at=assignment.started_at,
        progress_pct=assignment.progress_pct,
        timeout_at=until,
    )
    if not assignment.ad_playing:
        return [running]
    return [running, reason("ad_playing", "Its progress is paused while an ad plays.", device_id=device.device_id)]


_PHASES: Final[dict[Phase, Callable[[Fleet, Assignment, datetime], list[Reason]]]] = {
    Phase.WAITING: _waiting,
    Phase.RETRYING: _retrying,
    Phase.OFFERED: _offered,
    Phase.SENT: _sent,
    Phase.RUNNING: _running,
}
