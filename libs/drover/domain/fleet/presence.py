"""Decides the commands that the scheduler sends from signs of life: a device is back, silent, stalled, unlocked or
charged."""

from __future__ import annotations

from datetime import datetime

from drover.domain.alerts import raise_alert, resolve_alert
from drover.domain.decider import NOTHING, Decision, accept
from drover.domain.event import Event
from drover.domain.fleet.alerts import HOST_SILENT, NEEDS_RESET
from drover.domain.fleet.commands import (
    ClearCondition,
    MarkOffline,
    MarkOnline,
    MarkSilent,
    MarkStalled,
    ReportDeviceError,
)
from drover.domain.fleet.events import (
    AssignmentCancelled,
    AttemptRolledBack,
    DeviceCameOnline,
    DeviceQuarantined,
    DeviceReleased,
    DeviceWentOffline,
)
from drover.domain.fleet.failure import Failure, fail
from drover.domain.fleet.policy import CRASH_ERROR_LASTS, HOST_SILENT_DEVICES_MIN, HOST_SILENT_WITHIN, ROLLBACKS_MAX
from drover.domain.fleet.registration import unknown_device
from drover.domain.fleet.state import Assignment, Device, Fleet, Phase
from drover.domain.fleet.supply import follow_up
from drover.domain.fleet.withdrawal import attempt_of, of, take_back

NETWORK_LOST = Failure("NETWORK_LOST", "The device fell silent three times while it ran this")
DEVICE_ERROR = "DEVICE_ERROR"
"""The name of the rule for a device that reports an error without a failed attempt."""
STALLED = Failure("PLAYBACK_STALLED", "No progress for 120 seconds")


def mark_online(fleet: Fleet, command: MarkOnline, now: datetime) -> Decision:
    device = fleet.devices.get(command.device_id)
    if device is None:
        return unknown_device(command.device_id)
    if device.alive:
        return NOTHING
    over = resolve_alert(fleet, HOST_SILENT, device.pc_id, "heard")
    return accept(DeviceCameOnline(device.device_id), *over, then=follow_up())


def mark_offline(fleet: Fleet, command: MarkOffline, now: datetime) -> Decision:
    device = fleet.devices.get(command.device_id)
    if device is None:
        return unknown_device(command.device_id)
    if not device.alive or device.running:  # a busy device stays busy until it has been silent for longer
        return NOTHING
    return _take_offline(fleet, device, command.last_seen, now)


def mark_silent(fleet: Fleet, command: MarkSilent, now: datetime) -> Decision:
    device = fleet.devices.get(command.device_id)
    if device is None:
        return unknown_device(command.device_id)
    return _take_offline(fleet, device, command.last_seen, now) if device.alive else NOTHING


def _take_offline(fleet: Fleet, device: Device, last_seen: datetime | None, now: datetime) -> Decision:
    events: list[Event] = []
    if device.assignment is not None:
        assignment = fleet.assignments[device.assignment]
        if assignment.phase is Phase.RUNNING:
            events += _roll_back(fleet, assignment, now)
        else:
            events += take_back(fleet.jobs[assignment.job_id], assignment, "offline")
    events.append(DeviceWentOffline(device.device_id, last_seen))
    return accept(*events, *_host_silent(fleet, device, now), then=follow_up())


def _host_silent(fleet: Fleet, device: Device, now: datetime) -> list[Event]:
    """Raise an alert if this was the last device on its PC that sent signs of life and another one fell silent within
    the last hour: the PC itself may be down."""
    pc = fleet.pcs[device.pc_id]
    if pc.heard > 1:
        return []
    count = 1 + sum(now - since <= HOST_SILENT_WITHIN for since in pc.silent.values())
    if count < HOST_SILENT_DEVICES_MIN:
        return []
    message = f"All {count} online phones of {pc.pc_id} have fallen silent"
    return raise_alert(fleet, HOST_SILENT, pc.pc_id, message, now, devices=count)


def _roll_back(fleet: Fleet, assignment: Assignment, now: datetime) -> list[Event]:
    """Take the work back from a device that fell silent."""
    return roll_back(fleet, assignment, now, "silent", NETWORK_LOST, device_leaves=True)


def roll_back(
    fleet: Fleet, assignment: Assignment, now: datetime, reason: str, last: Failure, *, device_leaves: bool = False
) -> list[Event]:
    """Take running work back from its device. This uses up no attempt, unless it is the third time for the same
    assignment: then the attempt fails with the failure `last`."""
    if assignment.rollbacks + 1 >= ROLLBACKS_MAX:
        return fail(fleet, assignment, last, now, device_leaves=device_leaves)
    events: list[Event] = [AttemptRolledBack(*attempt_of(assignment), reason)]
    if fleet.jobs[assignment.job_id].has_ended:
        events.append(AssignmentCancelled(*of(assignment), "job_ended"))
    return events


def can_stall(assignment: Assignment) -> bool:
    """Whether the run may be treated as stalled. A run that its PC claimed may not, until it has reported progress."""
    return assignment.phase is Phase.RUNNING and not (assignment.by_pc and assignment.progress_pct == 0)


def mark_stalled(fleet: Fleet, command: MarkStalled, now: datetime) -> Decision:
    assignment = fleet.assignments.get(command.assignment_id)
    if assignment is None or assignment.run != command.run or not can_stall(assignment):
        return NOTHING
    return accept(*fail(fleet, assignment, STALLED, now), then=follow_up())


def clear_condition(fleet: Fleet, command: ClearCondition, now: datetime) -> Decision:
    device = fleet.devices.get(command.device_id)
    if device is None:
        return unknown_device(command.device_id)
    if device.error is None or device.error.condition != command.condition:
        return NOTHING
    over = resolve_alert(fleet, NEEDS_RESET, device.device_id, "condition")
    return accept(DeviceReleased(device.device_id, "condition"), *over, then=follow_up())


def report_device_error(fleet: Fleet, command: ReportDeviceError, now: datetime) -> Decision:
    """Put the device into error: it gets no new work for a while. Running work may finish; work that has not begun is
    taken back."""
    device = fleet.devices.get(command.device_id)
    if device is None:
        return unknown_device(command.device_id)
    if device.error is not None:
        return NOTHING
    events: list[Event] = []
    if device.assignment is not None:
        assignment = fleet.assignments[device.assignment]
        if assignment.phase is not Phase.RUNNING:
            events += take_back(fleet.jobs[assignment.job_id], assignment, "device_error")
    until = now + CRASH_ERROR_LASTS
    return accept(*events, DeviceQuarantined(device.device_id, DEVICE_ERROR, until, None, None), then=follow_up())
