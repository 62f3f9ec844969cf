"""What happens at the deadlines of the fleet: those of offers, attempts, retries, errors, holds, jobs,
schedules and alerts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from drover.domain.alerts import expire_alert, resolve_alert
from drover.domain.decider import Decision
from drover.domain.event import Event
from drover.domain.fleet.alerts import HOST_FAILING, POISON_JOB
from drover.domain.fleet.events import (
    DeviceHoldEnded,
    DeviceReleased,
    JobArchived,
    JobCameDue,
    JobExpired,
    PcHoldEnded,
)
from drover.domain.fleet.failure import TIMED_OUT, fail
from drover.domain.fleet.state import Fleet, Phase
from drover.domain.fleet.supply import follow_up, is_outstanding, resumed, unreached
from drover.domain.fleet.withdrawal import take_back_untaken
from drover.domain.timers import AT_ONCE


def next_deadline(fleet: Fleet) -> datetime | None:
    return AT_ONCE if is_outstanding(fleet) else fleet.timers.first_at()


def tick(fleet: Fleet, command: object, now: datetime) -> Decision:
    return Decision(then=follow_up(fire_first))


def fire_first(fleet: Fleet, now: datetime, events_max: int) -> list[Event]:
    """Fire one deadline that has passed. The next one is looked up in the state after it."""
    overdue = fleet.timers.overdue(now)
    if overdue is None or fleet.withdrawing:
        return []  # withdrawals come first: otherwise a job could be archived before its offers are taken back
    kind, subject = overdue
    return _FIRE[kind](fleet, subject, now)


def _assignment(fleet: Fleet, assignment_id: str, now: datetime) -> list[Event]:
    assignment = fleet.assignments[assignment_id]
    if assignment.phase is Phase.RUNNING:
        return fail(fleet, assignment, TIMED_OUT, now)
    if assignment.phase is Phase.RETRYING:
        return [resumed(fleet, assignment_id)]
    return take_back_untaken(fleet, assignment, now)


def _device(fleet: Fleet, device_id: str, now: datetime) -> list[Event]:
    device = fleet.devices[device_id]
    if device.error is not None and device.error.until is not None and device.error.until <= now:
        return [DeviceReleased(device_id, "time")]
    return [DeviceHoldEnded(device_id)]


def _job(fleet: Fleet, job_id: str, now: datetime) -> list[Event]:
    job = fleet.jobs[job_id]
    if job.has_ended:
        return [JobArchived(job_id)]
    return [JobExpired(job_id, unreached(fleet, job)), *resolve_alert(fleet, POISON_JOB, job_id, "expired")]


def _schedule(fleet: Fleet, job_id: str, now: datetime) -> list[Event]:
    return [JobCameDue(job_id)]


def _pc(fleet: Fleet, pc_id: str, now: datetime) -> list[Event]:
    return [PcHoldEnded(pc_id), *resolve_alert(fleet, HOST_FAILING, pc_id, "tried again")]


def _alert(fleet: Fleet, key: str, now: datetime) -> list[Event]:
    return expire_alert(fleet, key)


_FIRE: Final[dict[str, Callable[[Fleet, str, datetime], list[Event]]]] = {
    "a": _assignment,
    "d": _device,
    "j": _job,
    "s": _schedule,
    "p": _pc,
    "l": _alert,
}
