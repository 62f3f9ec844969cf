"""Finds the reasons that keep a job, a device, or a job on a device waiting."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from drover.domain.fleet.index import is_look_over, slots
from drover.domain.fleet.policy import JOB_LIVES, POISON_DEVICES
from drover.domain.fleet.state import Device, Fleet, Job, JobStatus, Pc, Phase
from drover.domain.fleet.turns import ahead_of
from drover.domain.fleet.why.formatting import Reason, count, due, moment, reason

CONDITIONS: Final = {
    "screen_locked": "until its screen is unlocked",
    "battery_low": "until it is charged",
}
"""For errors without an end time: until when they last, in words."""


def has_turn(fleet: Fleet, job: Job) -> bool:
    return fleet.supply is not None and fleet.supply.job_id == job.job_id


def job_holds(fleet: Fleet, job: Job) -> list[Reason]:
    """Find what keeps a job from becoming active, apart from a lack of devices."""
    withdrawn = withdrawal(fleet, job)
    if job.has_ended:
        return [ended(job), *withdrawn]
    if job.status is JobStatus.PAUSED:
        return [_paused(job), *scheduled(job), *withdrawn]
    if not job.wanted:
        return [
            reason(
                "job_inactive",
                f"Job {job.job_id} was created paused. Resume it to put it into the queue.",
                job_id=job.job_id,
            ),
            *scheduled(job),
        ]
    if job.is_scheduled:
        return [*scheduled(job), *withdrawn]
    if (active := fleet.active) is not None and active is not job:
        return [_behind(fleet, job, active), *withdrawn]
    return withdrawn


def ended(job: Job) -> Reason:
    at = moment(job.ended_at)
    hours = round(JOB_LIVES.total_seconds() / 3600)
    since = "it was created" if job.lives_from is None else "the time it could start at"
    how = {
        JobStatus.COMPLETED: f"completed at {at}",
        JobStatus.EXPIRED: f"expired at {at}, {hours} hours after {since}",
        JobStatus.DEACTIVATED: f"was deactivated at {at}",
    }.get(job.status, f"was cancelled at {at}")
    sentence = f"Job {job.job_id} {how}: {count(job.completed, 'device')} completed it, {job.failed} failed."
    data: dict[str, Any] = {"job_id": job.job_id, "ended_at": job.ended_at}
    data |= {"completed": job.completed, "failed": job.failed}
    if job.status is JobStatus.EXPIRED:
        data["was_scheduled"] = job.lives_from is not None
    return reason(f"job_{job.status}", sentence, **data)


def scheduled(job: Job) -> list[Reason]:
    """Return the reason that the time of the job has not come yet. Empty if it has, or if the job has no time."""
    if not job.is_scheduled:
        return []
    at = job.spec.not_before
    sentence = f"Job {job.job_id} is scheduled for {moment(at)}."
    return [reason("job_scheduled", sentence, job_id=job.job_id, not_before=at)]


def withdrawal(fleet: Fleet, job: Job) -> list[Reason]:
    """Return the reason that offers of the job are still being withdrawn, which takes several steps. Empty if none
    are."""
    if job.job_id not in fleet.withdrawing:
        return []
    left = len(job.offered) + (len(job.waiting) if job.has_ended else 0)
    sentence = f"Pending assignments of job {job.job_id} are being withdrawn: {left} left."
    return [reason("job_withdrawing", sentence, job_id=job.job_id, left=left)]


def _paused(job: Job) -> Reason:
    if job.paused_for is None:
        return reason("job_paused", f"Job {job.job_id} is paused.", job_id=job.job_id, poison=None)
    sentence = f"Job {job.job_id} is paused: it failed permanently on {POISON_DEVICES} devices with {job.paused_for}."
    return reason(
        "job_paused",
        sentence,
        job_id=job.job_id,
        poison=job.paused_for,
        device_ids=job.final_failures.get(job.paused_for, [])[:POISON_DEVICES],
    )


def _behind(fleet: Fleet, job: Job, active: Job) -> Reason:
    ahead = ahead_of(fleet, job)
    preferred = sum(other.number > job.number for other in ahead)
    sentence = (
        f"Job {job.job_id} is behind job {active.job_id}, which has been active since {moment(active.activated_at)}"
    )
    if preferred:
        sentence += f", and {count(len(ahead), 'job')} in the queue, of which {preferred} newer "
        sentence += "with a higher priority or put first"
    elif ahead:
        sentence += f", and {count(len(ahead), 'older job')} in the queue"
    data = {
        "job_id": job.job_id,
        "behind": active.job_id,
        "since": active.activated_at,
        "ahead": len(ahead),
        "preferred": preferred,
    }
    return reason("job_behind", f"{sentence}.", **data)


def device_holds(fleet: Fleet, device: Device, now: datetime) -> list[Reason]:
    """Find what keeps a device from getting any work."""
    reasons = []
    about = {"device_id": device.device_id}
    if device.error is not None:
        reasons.append(_in_error(device, now))
    if not device.alive:
        reasons.append(reason("device_offline", f"Device {device.serial_number} is offline.", **about))
    if device.held_until is not None:
        sentence = f"Device {device.serial_number} is held after {count(device.untaken, 'offer')} that it did not fetch"
        sentence += f": the next one comes {due(device.held_until, now)}."
        reasons.append(reason("device_held", sentence, **about, until=device.held_until, untaken=device.untaken))
    pc = fleet.pcs[device.pc_id]
    if pc.held_until is not None:
        sentence = f"PC {pc.pc_id} is held, because all its devices were failing"
        sentence += f": it gets work again {due(pc.held_until, now)}."
        reasons.append(reason("pc_held", sentence, pc_id=pc.pc_id, until=pc.held_until))
    return reasons


def _in_error(device: Device, now: datetime) -> Reason:
    error = device.error
    assert error is not None
    if error.until is None:
        ends = CONDITIONS.get(error.condition or "", "until it is reset")
    elif error.until > now:
        ends = f"until {moment(error.until)}"
    else:
        ends = f"and about to be released, as {moment(error.until)} has passed"
    return reason(
        "device_error",
        f"Device {device.serial_number} is in error ({error.rule}) {ends}.",
        device_id=device.device_id,
        rule=error.rule,
        until=error.until,
        condition=error.condition,
        job_id=error.job_id,
    )


def slot_holds(fleet: Fleet, job: Job, device: Device) -> list[Reason]:
    """Find what keeps one target device of the ACTIVE job from getting it."""
    reasons = missing(job, device) + in_hand(fleet, device)
    pc = fleet.pcs[device.pc_id]
    if fleet.supply is not None and pc.seen_in != fleet.supply.look:
        reasons += look_under_way(fleet, job)
    elif pc.in_use >= slots(pc):
        reasons.append(pc_full(pc))
    return reasons


def missing(job: Job, device: Device) -> list[Reason]:
    if not (lacking := lacks(job, device)):
        return []
    sentence = f"Device {device.serial_number} lacks `{lacking[0]}`, which job {job.job_id} needs."
    return [reason("capability_missing", sentence, device_id=device.device_id, job_id=job.job_id, capabilities=lacking)]


def lacks(job: Job, device: Device) -> list[str]:
    return [capability for capability in job.needs if capability not in device.capabilities]


def in_hand(fleet: Fleet, device: Device) -> list[Reason]:
    if device.assignment is None:
        return []
    assignment = fleet.assignments[device.assignment]
    sentence = f"Device {device.serial_number} is working on job {assignment.job_id}: {assignment.phase}"
    if assignment.phase is Phase.RUNNING:
        sentence += f", {assignment.progress_pct} %"
    return [
        reason(
            "device_in_flight",
            f"{sentence}.",
            device_id=device.device_id,
            assignment_id=assignment.assignment_id,
            job_id=assignment.job_id,
            phase=assignment.phase,
            progress_pct=assignment.progress_pct,
        )
    ]


def look_under_way(fleet: Fleet, job: Job) -> list[Reason]:
    supply = fleet.supply
    if supply is None or is_look_over(fleet):
        return []
    total = len(fleet.pc_order if supply.route is None else supply.route)
    sentence = f"Drover is looking for devices: {supply.cursor} of {count(total, 'PC')} checked."
    return [reason("look_under_way", sentence, job_id=job.job_id, seen=supply.cursor, total=total)]


def pc_full(pc: Pc) -> Reason:
    target = slots(pc)
    sentence = f"PC {pc.pc_id} is full: {pc.in_use} of {target} slots are in use."
    return reason("pc_full", sentence, pc_id=pc.pc_id, in_use=pc.in_use, target=target)


def quota_used(job: Job) -> list[Reason]:
    if job.quota_left != 0:
        return []
    sentence = f"Job {job.job_id} has reached its target of {count(job.counted, 'device')}."
    return [reason("job_has_its_number", sentence, job_id=job.job_id, count=job.counted)]
