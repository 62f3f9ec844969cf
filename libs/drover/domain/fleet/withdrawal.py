"""Takes work back that is not running: offers, sent attempts and retries. Running work is taken back in `presence`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from drover.domain.alerts import raise_alert
from drover.domain.event import Event
from drover.domain.fleet.alerts import OFFERS_UNTAKEN
from drover.domain.fleet.events import AssignmentCancelled, AssignmentParked, AttemptCancelled, DeviceHeld
from drover.domain.fleet.policy import HOLD, UNTAKEN_ALERT_AT
from drover.domain.fleet.state import Assignment, Device, Fleet, Job, Phase


def of(assignment: Assignment) -> tuple[str, str, str]:
    """Return the first fields of every event about an assignment: the ids of the assignment, its job and its device."""
    return assignment.assignment_id, assignment.job_id, assignment.device_id


def attempt_of(assignment: Assignment) -> tuple[str, str, str, int, int]:
    """Return the first fields of every event about an attempt: those of `of`, the run and the number of the attempt."""
    return (
        assignment.assignment_id,
        assignment.job_id,
        assignment.device_id,
        assignment.run,
        assignment.attempt,
    )


def take_back(job: Job, assignment: Assignment, reason: str) -> list[Event]:
    """Take the slot from an assignment that does not run.

    The assignment then waits for its device if it has run before, if a person named the device, or if the target of a
    job without a maximum number of devices names it. Otherwise it is cancelled, so that another device can get the job.
    If the job has ended, it is always cancelled.
    """
    events: list[Event] = []
    if assignment.phase in (Phase.OFFERED, Phase.SENT):
        events.append(AttemptCancelled(*attempt_of(assignment), reason))
    named = assignment.asked_for or (assignment.device_id in job.named and job.quota_left is None)
    if not job.is_open or not (assignment.has_run or named):
        events.append(AssignmentCancelled(*of(assignment), reason))
    elif assignment.phase is not Phase.WAITING:
        events.append(AssignmentParked(*of(assignment), reason))
    return events


def take_back_untaken(fleet: Fleet, assignment: Assignment, now: datetime) -> list[Event]:
    """Take back an offer that the device did not fetch or did not start. The device gets no offers for a while, longer
    each time."""
    job, device = fleet.jobs[assignment.job_id], fleet.devices[assignment.device_id]
    reason = "unsent" if assignment.phase is Phase.OFFERED else "unacked"
    untaken = device.untaken + 1
    until = now + HOLD.pause(untaken)
    events = [*take_back(job, assignment, reason), DeviceHeld(device.device_id, until, untaken)]
    if untaken >= UNTAKEN_ALERT_AT:
        message = f"Device {device.serial_number} did not fetch {untaken} offers in a row"
        events += raise_alert(fleet, OFFERS_UNTAKEN, device.device_id, message, now, **where(device))
    return events


def where(device: Device) -> dict[str, Any]:
    """Return the details that alerts show of a device: its serial number and its PC."""
    return {"serial_number": device.serial_number, "pc_id": device.pc_id}
