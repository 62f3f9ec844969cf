"""Index of devices that could take work. Every event updates it, so no decision has to search. Only `evolve` changes
it.

* available: sends signs of life, not in error, has no work, and neither it nor its PC is in a pause without work;
* countable: sends signs of life, not in error, and a target of the ACTIVE job with the capabilities that the job needs;
* free: countable and available, and the ACTIVE job has not run there;
* back: countable and available, and an assignment of the ACTIVE job waits for it;
* expected: countable, not available, and the ACTIVE job may still run there, so the job is not done yet.
"""

from __future__ import annotations

from collections.abc import Iterable

from drover.domain.fleet.policy import PC_CAPACITY_MAX, UNTAKEN_ALERT_AT
from drover.domain.fleet.state import Device, Fleet, Job, JobStatus, Pc, Supply


def is_target(job: Job, device: Device) -> bool:
    if device.device_id in job.named:
        return True
    target = job.spec.target
    if target is None:
        return True
    if target.device_ids is not None:
        return False  # the devices of such a target are all in `named`
    return target.group_id in (None, device.group_id) and target.pc_id in (None, device.pc_id)


def wants(job: Job, device: Device) -> bool:
    """Whether the device is a target of the job and has all capabilities that it needs."""
    if not is_target(job, device):
        return False
    return not job.needs or all(need in device.capabilities for need in job.needs)


def slots(pc: Pc) -> int:
    """How many devices may work on the PC at once, for any job."""
    return min(PC_CAPACITY_MAX, pc.capacity)


def settle(fleet: Fleet) -> None:
    """If no job is ACTIVE, choose the one that becomes ACTIVE next. Called once after each event that may affect the
    choice."""
    if fleet.supply is None:
        fleet.next_job = _first_that_could_run(fleet)
        fleet.unsettled = False


def _first_that_could_run(fleet: Fleet) -> str | None:
    if fleet.available:
        for _, job_id in fleet.queue:
            if _can_run_now(fleet, fleet.jobs[job_id]):
                return job_id
    return None


def _can_run_now(fleet: Fleet, job: Job) -> bool:
    """Whether any device could take the job now, or it has nothing left to do but to end."""
    target = job.spec.target
    if job.returned_at == fleet.arrivals:
        return False
    if job.quota_left == 0:  # it has its number of devices, so it can only continue where an assignment waits, or end
        waiting = (fleet.devices[fleet.assignments[assignment].device_id] for assignment in job.waiting)
        return not job.live or any(device.available for device in waiting)
    if job.present:
        return True
    if target is None or (target.group_id is None and target.pc_id is None and target.device_ids is None):
        return fleet.available > 0
    if target.device_ids is not None:
        return False
    if target.pc_id is not None:
        return (pc := fleet.pcs.get(target.pc_id)) is not None and pc.available > 0
    return fleet.available_in_group.get(target.group_id or "", 0) > 0


def refresh(fleet: Fleet, device: Device) -> None:
    """Update the index after a change of this device or of its part in the ACTIVE job."""
    pc = fleet.pcs[device.pc_id]
    available = (
        device.alive
        and device.error is None
        and device.assignment is None
        and device.held_until is None
        and pc.held_until is None
    )
    if available is not device.available:
        _count_available(fleet, pc, device, 1 if available else -1)
        device.available = available
    supply = fleet.supply
    if supply is not None and pc.seen_in == supply.look:
        _place(fleet, supply, pc, device)
        refresh_pc(fleet, pc)


def refresh_pc(fleet: Fleet, pc: Pc) -> None:
    """Update whether the PC is in `Fleet.hungry` (it has a free slot and a free device) and in `Fleet.resuming` (a free
    slot and a device that is back). Both must be exact, because supply expects that it can fill a slot of every PC in
    them."""
    supply = fleet.supply
    has_slot = supply is not None and pc.seen_in == supply.look and pc.in_use < slots(pc)
    _put(fleet.hungry, pc.pc_id, has_slot and bool(pc.free))
    _put(fleet.resuming, pc.pc_id, has_slot and bool(pc.back))


def _put(members: dict[str, None], key: str, wanted: bool) -> None:
    if wanted:
        members[key] = None
    else:
        members.pop(key, None)


def _count_available(fleet: Fleet, pc: Pc, device: Device, step: int) -> None:
    fleet.unsettled = True
    fleet.available += step
    if step > 0:
        fleet.arrivals += 1
    pc.available += step
    fleet.available_in_group[device.group_id] = fleet.available_in_group.get(device.group_id, 0) + step
    for job_id in device.named_in:
        fleet.jobs[job_id].present += step


def set_alive(fleet: Fleet, device: Device, *, alive: bool) -> None:
    """Set whether signs of life arrive from the device. The caller must then call `refresh`."""
    fleet.pcs[device.pc_id].heard += alive - device.alive
    device.alive = alive


def forget(fleet: Fleet, device: Device) -> None:
    """Remove a device from all counts, before it changes its PC or group."""
    pc = fleet.pcs[device.pc_id]
    pc.heard -= device.alive
    if device.available:
        _count_available(fleet, pc, device, -1)
        device.available = False
    supply = fleet.supply
    if supply is not None and pc.seen_in == supply.look:
        _set_flags(supply, pc, device, countable=False, free=False, back=False, expected=False)
        refresh_pc(fleet, pc)


def _place(fleet: Fleet, supply: Supply, pc: Pc, device: Device) -> None:
    job = fleet.jobs[supply.job_id]
    countable = device.alive and device.error is None and wants(job, device)
    comes = countable and device.device_id not in job.ran
    back = comes and device.available and device.device_id in job.live
    free = comes and device.available and not back
    expected = comes and not device.available and not is_at_work_for(fleet, job, device) and not _gave_up(device)
    _set_flags(supply, pc, device, countable=countable, free=free, back=back, expected=expected)


def is_at_work_for(fleet: Fleet, job: Job, device: Device) -> bool:
    return device.assignment is not None and fleet.assignments[device.assignment].job_id == job.job_id


def _gave_up(device: Device) -> bool:
    """Whether the device sends signs of life, but has not fetched its offers for so long that jobs no longer wait for
    it."""
    return device.held_until is not None and device.untaken >= UNTAKEN_ALERT_AT


def _set_flags(
    supply: Supply, pc: Pc, device: Device, *, countable: bool, free: bool, back: bool, expected: bool
) -> None:
    if countable is not device.countable:
        pc.countable += 1 if countable else -1
        device.countable = countable
    if free is not device.free:
        supply.free += 1 if free else -1
        _put(pc.free, device.device_id, free)
        device.free = free
    if back is not device.back:
        supply.back += 1 if back else -1
        _put(pc.back, device.device_id, back)
        device.back = back
    if expected is not device.expected:
        supply.expected += 1 if expected else -1
        device.expected = expected


def look_for_devices(fleet: Fleet, job: Job) -> None:
    """Start a new search for devices for the job, over all PCs that may have some. The results of the previous search
    become invalid."""
    fleet.looks += 1
    fleet.hungry.clear()
    fleet.resuming.clear()
    fleet.supply = Supply(job.job_id, fleet.looks, _route(fleet, job))


def stop_looking(fleet: Fleet) -> None:
    fleet.supply = None
    fleet.unsettled = True
    fleet.hungry.clear()
    fleet.resuming.clear()


def _route(fleet: Fleet, job: Job) -> list[str] | None:
    target = job.spec.target
    if target is None or (target.group_id is None and target.pc_id is None and target.device_ids is None):
        return None
    devices: Iterable[str] = job.named
    if target.group_id is not None:
        devices = [*fleet.groups.get(target.group_id, ()), *job.named]
    pcs = {fleet.devices[device_id].pc_id: None for device_id in devices}
    if target.pc_id in fleet.pcs:
        pcs[target.pc_id] = None
    return list(pcs)


def pcs_to_see(fleet: Fleet) -> list[str]:
    """Return the PCs that the search for devices for the ACTIVE job has not reached yet, in the order of the search."""
    supply = fleet.supply
    assert supply is not None
    route = fleet.pc_order if supply.route is None else supply.route
    return route[supply.cursor :]


def is_look_over(fleet: Fleet) -> bool:
    supply = fleet.supply
    assert supply is not None
    return supply.cursor >= len(fleet.pc_order if supply.route is None else supply.route)


def see(fleet: Fleet, pc: Pc) -> None:
    """Count the devices of this PC for the ACTIVE job, because the search has reached the PC."""
    supply = fleet.supply
    assert supply is not None
    again = pc.seen_in == supply.look
    if not again:
        pc.seen_in, pc.countable, pc.free, pc.back = supply.look, 0, {}, {}
    for device_id in pc.devices:
        device = fleet.devices[device_id]
        if not again:
            device.countable = device.free = device.back = device.expected = False
        _place(fleet, supply, pc, device)
    refresh_pc(fleet, pc)


def add_to_route(fleet: Fleet, device: Device) -> None:
    """Add the device's PC to the search if the device is a target of the ACTIVE job and the search would not reach this
    PC otherwise."""
    supply = fleet.supply
    if supply is None or supply.route is None:
        return
    if fleet.pcs[device.pc_id].seen_in != supply.look and is_target(fleet.jobs[supply.job_id], device):
        supply.route.append(device.pc_id)


def refresh_reopening(fleet: Fleet, job: Job) -> None:
    """Update whether the job is in `Fleet.reopening`: it is open and has assignments that must be opened again."""
    _put(fleet.reopening, job.job_id, job.is_open and bool(job.cut_off))


def refresh_withdrawal(fleet: Fleet, job: Job) -> None:
    """Update whether the job is in `Fleet.withdrawing`: it is not ACTIVE and still has offers or retries. If it has
    ended, its waiting assignments count, too."""
    wanted = job.status is not JobStatus.ACTIVE and bool(job.offered or (job.has_ended and job.waiting))
    _put(fleet.withdrawing, job.job_id, wanted)
