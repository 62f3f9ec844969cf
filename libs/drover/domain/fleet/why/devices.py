"""Explains why a device has no work, or which work it has."""

from __future__ import annotations

from datetime import datetime

from drover.domain.fleet.index import is_target
from drover.domain.fleet.state import Device, Fleet, JobStatus
from drover.domain.fleet.why.formatting import Reason, count, moment, reason
from drover.domain.fleet.why.holds import device_holds, in_hand, quota_used, slot_holds
from drover.domain.fleet.why.targets import target_data, target_words


def why_device(fleet: Fleet, device: Device, now: datetime) -> list[Reason]:
    holds = device_holds(fleet, device, now)
    if device.assignment is not None:
        return in_hand(fleet, device) + holds
    reasons = holds + _no_work(fleet, device)
    return reasons or [reason("nothing", f"Nothing blocks device {device.serial_number}: it is next.")]


def _no_work(fleet: Fleet, device: Device) -> list[Reason]:
    job = fleet.active
    if job is None:
        return [_no_job(fleet)]
    about = {"job_id": job.job_id, "device_id": device.device_id}
    if not is_target(job, device):
        sentence = f"The active job, {job.job_id}, does not target device {device.serial_number}: it is for"
        return [reason("not_in_target", f"{sentence} {target_words(job)}.", **about, target=target_data(job))]
    if device.device_id in job.ran:
        sentence = f"The active job, {job.job_id}, has already finished on device {device.serial_number}."
        return [reason("job_ran_here", sentence, **about)]
    return slot_holds(fleet, job, device) + quota_used(job)


def _no_job(fleet: Fleet) -> Reason:
    waiting = len(fleet.queue)
    if not waiting:
        return _only_scheduled(fleet) or reason("no_job", "There is no work: no job is active or waiting.", waiting=0)
    sentence = f"No job is active: {count(waiting, 'job')} in the queue, but no device can take one now."
    return reason("no_job", sentence, waiting=waiting)


def _only_scheduled(fleet: Fleet) -> Reason | None:
    """Return the reason that all jobs that could start are scheduled for later. None if there are no such jobs."""
    jobs = [job for job in fleet.jobs.values() if job.is_scheduled and job.wanted and job.status is JobStatus.CREATED]
    if not jobs:
        return None
    next_at = min(job.spec.not_before for job in jobs if job.spec.not_before is not None)
    sentence = f"There is no work now: {count(len(jobs), 'job')} scheduled, the next for {moment(next_at)}."
    return reason("no_job", sentence, waiting=0, scheduled=len(jobs), next_at=next_at)
