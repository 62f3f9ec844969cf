"""Decides what follows from a failed attempt: a retry or the end, and the effects on job, device and PC. The table of
errors is in `policy.py`."""

from __future__ import annotations

from datetime import datetime

import msgspec

from drover.domain.alerts import raise_alert, resolve_alert
from drover.domain.event import Event
from drover.domain.fleet.alerts import HOST_FAILING, NEEDS_RESET, POISON_JOB
from drover.domain.fleet.events import (
    AttemptFailed,
    AttemptFailedFinal,
    AttemptTimedOut,
    DeviceQuarantined,
    DeviceReleased,
    JobDeactivated,
    JobNeedAdded,
    JobPaused,
    PcHeld,
    RetryScheduled,
)
from drover.domain.fleet.index import is_at_work_for
from drover.domain.fleet.policy import (
    CRASH_ERROR_LASTS,
    CRASHED_MESSAGE,
    CRASHES_IN_A_ROW_MAX,
    END_REPORTS_MIN,
    ERROR_LASTS,
    FAILURES_IN_A_ROW_MAX,
    HOST_DEVICES_MIN,
    HOST_FAILING_WITHIN,
    HOST_HOLD,
    MESSAGE_BYTES_MAX,
    POISON_DEVICES,
    REFERENCE_BYTES_MAX,
    TIMEOUT_MESSAGE,
    DeviceEffect,
    JobEffect,
    Rule,
    rule_of,
)
from drover.domain.fleet.state import Assignment, Device, Fleet, Job, JobStatus
from drover.domain.fleet.supply import unreached
from drover.domain.fleet.withdrawal import attempt_of, where
from drover.domain.texts import cut

AGE_VERIFIED = "age_verified"
_COUNTED = (DeviceEffect.FAILURE, DeviceEffect.CRASH)


class Failure(msgspec.Struct, frozen=True):
    """How an attempt failed: as its agent reported it, or as the server found out."""

    code: str
    message: str | None = None
    screenshot_ref: str | None = None
    activity_stack: str | None = None
    is_proven: bool = False
    """Whether the failure was really reported by this device: under its own key, or with the number of its run. With
    `DROVER_ANON=full` every report counts as proven. Only a proven failure can end the job for all devices, or make it
    need a capability."""
    is_enough: bool = False
    """Whether this report alone is enough to end the job for all devices."""


TIMED_OUT = Failure("TIMEOUT", TIMEOUT_MESSAGE)


def fail(
    fleet: Fleet,
    assignment: Assignment,
    failure: Failure,
    now: datetime,
    *,
    device_leaves: bool = False,
    is_last: bool = False,
) -> list[Event]:
    """Make all events that follow from this failure. `device_leaves`: the same decision takes the device offline.
    `is_last`: the agent has used up its retries."""
    job, device = fleet.jobs[assignment.job_id], fleet.devices[assignment.device_id]
    rule = rule_of(failure.code)
    blamed = rule.device in _COUNTED and rule.name not in job.poison_rules
    failed = assignment.attempt
    exhausted = is_last or failed >= rule.attempts
    retries = not exhausted and job.is_open
    quarantine = _quarantine(job, device, rule, now, exhausted=exhausted, blamed=blamed)
    events: list[Event] = [_failed(assignment, failure, rule, blamed)]
    if retries:
        well = device.error is None and quarantine is None
        stays = job.status is JobStatus.ACTIVE and well and not device_leaves
        events.append(RetryScheduled(*attempt_of(assignment), now + rule.delay(failed) if stays else None))
    else:
        events.append(_failed_final(assignment, failure, rule, device))
        if job.is_open and rule.poisons and _is_poisoned_by(fleet, job, rule, device):
            return events + _pause_poisoned(fleet, job, rule, device, now)
        events += _job_effect(fleet, job, device, failure, rule)
    if quarantine is not None:
        host = _host_effect(fleet, device, now) if quarantine.condition is None else []
        events += host or _put_into_error(fleet, device, quarantine, now)
    return events


def _failed(assignment: Assignment, failure: Failure, rule: Rule, blamed: bool) -> Event:
    if failure is TIMED_OUT:
        return AttemptTimedOut(*attempt_of(assignment), TIMEOUT_MESSAGE, blamed)
    return AttemptFailed(
        *attempt_of(assignment),
        code=failure.code,
        rule=rule.name,
        message=cut(failure.message, MESSAGE_BYTES_MAX),
        blamed=blamed,
        screenshot_ref=cut(failure.screenshot_ref, REFERENCE_BYTES_MAX),
        activity_stack=cut(failure.activity_stack, MESSAGE_BYTES_MAX),
    )


def _failed_final(assignment: Assignment, failure: Failure, rule: Rule, device: Device) -> Event:
    crashed_out = rule.device is DeviceEffect.CRASH and device.crashes + 1 >= CRASHES_IN_A_ROW_MAX
    message = CRASHED_MESSAGE if crashed_out else cut(failure.message, MESSAGE_BYTES_MAX)
    replaced = rule.job is JobEffect.NEED_AGE_VERIFIED
    counts = rule.job is JobEffect.DEACTIVATE and failure.is_proven
    return AttemptFailedFinal(*attempt_of(assignment), failure.code, rule.name, message, replaced, counts)


def _job_effect(fleet: Fleet, job: Job, device: Device, failure: Failure, rule: Rule) -> list[Event]:
    """Make the events that change the job for all devices. An unproven report, which anybody may have sent, has no
    such effect."""
    if not (job.is_open and failure.is_proven):
        return []
    if rule.job is JobEffect.DEACTIVATE and _is_given_up(fleet, job, device, failure):
        over = resolve_alert(fleet, POISON_JOB, job.job_id, "deactivated")
        return [JobDeactivated(job.job_id, rule.name, unreached(fleet, job)), *over]
    if rule.job is JobEffect.NEED_AGE_VERIFIED and AGE_VERIFIED not in job.needs:
        return [JobNeedAdded(job.job_id, AGE_VERIFIED)]
    return []


def _is_given_up(fleet: Fleet, job: Job, device: Device, failure: Failure) -> bool:
    needed = 1 if failure.is_enough else min(END_REPORTS_MIN, len(fleet.devices))
    return len({*job.given_up_by, device.device_id}) >= needed


def _quarantine(
    job: Job, device: Device, rule: Rule, now: datetime, *, exhausted: bool, blamed: bool
) -> DeviceQuarantined | None:
    """Make the event that puts the device into error, if this failure is reason enough."""
    if rule.name in job.poison_rules:
        return None
    if rule.device in (DeviceEffect.SCREEN_LOCKED, DeviceEffect.BATTERY_LOW, DeviceEffect.NEEDS_RESET):
        return DeviceQuarantined(device.device_id, rule.name, None, rule.device.value, job.job_id)
    if not blamed:
        return None
    if rule.device is DeviceEffect.CRASH and device.crashes + 1 >= CRASHES_IN_A_ROW_MAX:
        return DeviceQuarantined(device.device_id, rule.name, now + CRASH_ERROR_LASTS, None, job.job_id)
    if exhausted or device.failures + 1 >= FAILURES_IN_A_ROW_MAX:
        return DeviceQuarantined(device.device_id, rule.name, now + ERROR_LASTS, None, job.job_id)
    return None


def _put_into_error(fleet: Fleet, device: Device, quarantine: DeviceQuarantined, now: datetime) -> list[Event]:
    if quarantine.condition != DeviceEffect.NEEDS_RESET:
        return [quarantine]
    message = f"Device {device.serial_number} failed with {quarantine.rule} and gets no work until somebody resets it"
    details = {"rule": quarantine.rule, **where(device)}
    return [quarantine, *raise_alert(fleet, NEEDS_RESET, device.device_id, message, now, **details)]


def _is_poisoned_by(fleet: Fleet, job: Job, rule: Rule, device: Device) -> bool:
    failed = {*job.final_failures.get(rule.name, ()), device.device_id}
    if len(failed) < POISON_DEVICES or rule.name in job.poison_rules:
        return False
    # If all these devices are on one PC, that PC may be at fault. Then the job is not taken for bad if it was completed
    # on another PC, or still runs on one.
    pcs = {fleet.devices[device_id].pc_id for device_id in failed}
    return len(pcs) > 1 or not (set(job.proven_on) - pcs or _is_under_way_elsewhere(fleet, job, *pcs))


def _is_under_way_elsewhere(fleet: Fleet, job: Job, pc_id: str) -> bool:
    here = sum(is_at_work_for(fleet, job, fleet.devices[device_id]) for device_id in fleet.pcs[pc_id].devices)
    return job.in_flight > here


def _pause_poisoned(fleet: Fleet, job: Job, rule: Rule, device: Device, now: datetime) -> list[Event]:
    """Pause the job, because three devices have failed with the same error. Undo the effects that these failures had on
    the devices."""
    devices = [*dict.fromkeys([*job.final_failures[rule.name], device.device_id])]
    events: list[Event] = [] if job.status is JobStatus.PAUSED else [JobPaused(job.job_id, "poison", rule.name)]
    for other in devices:
        error = fleet.devices[other].error
        if other == device.device_id or (error and error.job_id == job.job_id and error.rule == rule.name):
            events.append(DeviceReleased(other, "poison_job"))
            events += resolve_alert(fleet, NEEDS_RESET, other, "poison_job")
    message = f"Job {job.spec.title or job.job_id} failed with {rule.name} on {len(devices)} devices and was paused"
    return events + raise_alert(fleet, POISON_JOB, job.job_id, message, now, rule=rule.name, devices=devices)


def _host_effect(fleet: Fleet, device: Device, now: datetime) -> list[Event]:
    """If all phones of a PC failed within ten minutes (at least three of them), the PC is to blame: give it no work for
    a while, and end the errors of its phones. No events if the PC is not to blame."""
    pc = fleet.pcs[device.pc_id]
    recent = {d for d, at in pc.failing.items() if now - at <= HOST_FAILING_WITHIN} | {device.device_id}
    if len(recent) < HOST_DEVICES_MIN:
        return []
    present = (fleet.devices[d] for d in pc.devices)
    if any((other.alive or other.error is not None) and other.device_id not in recent for other in present):
        return []
    until = now + HOST_HOLD
    events: list[Event] = [PcHeld(pc.pc_id, until)]
    events += [
        DeviceReleased(other, "host")
        for other in sorted(recent)
        if other == device.device_id or ((error := fleet.devices[other].error) and error.condition is None)
    ]
    message = (
        f"All {len(recent)} devices of {pc.pc_id} failed within 10 minutes; it gets no work until {until:%H:%M} UTC"
    )
    return events + raise_alert(fleet, HOST_FAILING, pc.pc_id, message, now, devices=sorted(recent))
