"""Explains a job's status: what keeps it from becoming active, and whether any device could take it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from drover.domain.fleet.index import slots
from drover.domain.fleet.policy import END_REPORTS_MIN, JobEffect, rule_of
from drover.domain.fleet.state import Device, Fleet, Job, JobStatus
from drover.domain.fleet.why.formatting import Reason, count, moment, reason
from drover.domain.fleet.why.holds import has_turn, job_holds, lacks, look_under_way, pc_full, quota_used
from drover.domain.fleet.why.targets import candidates, of_target, target_data, target_words

DEVICES_LOOKED_AT_MAX: Final = 10_000
"""The maximum number of target devices of a job that are checked. Beyond it the rest is left out, and the sentence says
so."""
PCS_NAMED_MAX: Final = 20
DEVICES_NAMED_MAX: Final = 20

HINDRANCES: Final = {
    "offline": "offline",
    "in_error": "in error",
    "held": "held after offers not fetched",
    "on_held_pc": "on a held PC",
    "in_flight": "busy with other work",
}


def why_job(fleet: Fleet, job: Job) -> list[Reason]:
    reasons = job_holds(fleet, job)
    if job.has_ended or job.status is JobStatus.PAUSED:
        return reasons
    if has_turn(fleet, job):
        reasons += [_active(job), *look_under_way(fleet, job)]
    reasons += _no_room(fleet, job)
    reasons += _given_up(fleet, job)
    return reasons or [reason("nothing", f"Nothing blocks job {job.job_id}: it is next.")]


def _active(job: Job) -> Reason:
    sentence = (
        f"Job {job.job_id} has been active since {moment(job.activated_at)}: {job.in_flight} in flight, "
        f"{job.completed} completed, {job.failed} failed."
    )
    return reason(
        "job_active",
        sentence,
        job_id=job.job_id,
        since=job.activated_at,
        in_flight=job.in_flight,
        completed=job.completed,
        failed=job.failed,
    )


def _given_up(fleet: Fleet, job: Job) -> list[Reason]:
    """Say that some devices reported that no device can do this job, but that too few of these reports count for it
    to end. Return an empty list if there are no such reports."""
    rules = [name for name in job.final_failures if rule_of(name).job is JobEffect.DEACTIVATE]
    if not rules:
        return []
    devices = dict.fromkeys(device_id for name in rules for device_id in job.final_failures[name])
    needed = min(END_REPORTS_MIN, len(fleet.devices))
    sentence = (
        f"{count(len(devices), 'device')} reported {' or '.join(rules)}. Job {job.job_id} ends for all devices when "
        f"{count(needed, 'device')} report this under their own keys or with their runs: so far {len(job.given_up_by)}."
    )
    return [
        reason(
            "job_given_up",
            sentence,
            job_id=job.job_id,
            rules=rules,
            reported=len(devices),
            counted=len(job.given_up_by),
            needed=needed,
            device_ids=list(devices)[:DEVICES_NAMED_MAX],
        )
    ]


def _no_room(fleet: Fleet, job: Job) -> list[Reason]:
    """Find what keeps all devices from taking the job now; empty if one device can."""
    if used := quota_used(job):
        return used
    found = candidates(fleet, job)
    looked_at = list(islice(found, DEVICES_LOOKED_AT_MAX))
    reasons = _nobody_of(fleet, job, looked_at)
    if reasons and next(found, None) is not None:
        return [replace(one, sentence=f"Of the first {len(looked_at)} devices: {one.sentence}") for one in reasons]
    return reasons


def _nobody_of(fleet: Fleet, job: Job, looked_at: Sequence[Device]) -> list[Reason]:
    about = {"job_id": job.job_id, "target": target_data(job), "looked_at": len(looked_at)}
    if not looked_at:
        sentence = f"No device matches the target of job {job.job_id}: {target_words(job)}."
        return [reason("no_device_in_target", sentence, **about)]
    left = [device for device in looked_at if device.device_id not in job.ran]
    for capability in job.needs:
        if left and not any(capability in device.capabilities for device in left):
            sentence = f"No eligible device has `{capability}`, which job {job.job_id} needs."
            return [reason("no_device_capable", sentence, capability=capability, **about)]
    able = [device for device in left if device.device_id not in job.live and not lacks(job, device)]
    if not able:
        sentence = f"Job {job.job_id} has been assigned to every device that can run it: {target_words(job)}."
        return [reason("no_device_left", sentence, **about)]
    hindered = Counter(_hindrance(fleet, device) for device in able)
    if None in hindered:
        return _all_full(fleet, job, [device for device in able if _hindrance(fleet, device) is None])
    return [_nobody(job, Counter({name: n for name, n in hindered.items() if name is not None}), about)]


def _hindrance(fleet: Fleet, device: Device) -> str | None:
    """Find the first thing that keeps a device from taking any job, as a key of `HINDRANCES`. None: nothing does."""
    if device.error is not None:
        return "in_error"
    if not device.alive:
        return "offline"
    if device.held_until is not None:
        return "held"
    if fleet.pcs[device.pc_id].held_until is not None:
        return "on_held_pc"
    return None if device.assignment is None else "in_flight"


def _nobody(job: Job, hindered: Counter[str], about: dict[str, Any]) -> Reason:
    counts = ", ".join(f"{hindered[name]} {words}" for name, words in HINDRANCES.items() if name in hindered)
    if hindered.keys() <= {"offline", "in_error"}:
        sentence = f"No device{of_target(job)} is online: {counts}."
        return reason("no_device_online", sentence, **about, **hindered)
    sentence = f"No device{of_target(job)} can take work now: {counts}."
    return reason("no_device_free", sentence, **about, **hindered)


def _all_full(fleet: Fleet, job: Job, ready: Sequence[Device]) -> list[Reason]:
    """Return the reason that no PC of these devices, which are ready, has a free slot. Empty if one has."""
    pcs = {device.pc_id: fleet.pcs[device.pc_id] for device in ready}
    if any(pc.in_use < slots(pc) for pc in pcs.values()):
        return []
    if len(pcs) == 1:
        return [pc_full(*pcs.values())]
    sentence = f"All {len(pcs)} PCs with a device for job {job.job_id} are full."
    return [reason("pcs_full", sentence, job_id=job.job_id, pcs=len(pcs), pc_ids=list(pcs)[:PCS_NAMED_MAX])]
