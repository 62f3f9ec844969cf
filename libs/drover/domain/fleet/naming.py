"""Records that a job names a device: in its target, or because a person assigned the device. Used by `evolve` only."""

from __future__ import annotations

from drover.domain.fleet.state import Device, Fleet, Job


def name_device(fleet: Fleet, job: Job, device: Device) -> None:
    if device.device_id not in job.named:
        job.named[device.device_id] = None
        device.named_in[job.job_id] = None
        job.present += device.available
        fleet.unsettled = True
