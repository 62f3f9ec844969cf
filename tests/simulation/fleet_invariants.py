"""What must hold of a fleet at any moment, found out anew from the plain facts, without the decider's own indices."""

from collections import Counter
from datetime import UTC, datetime, timedelta

from drover.domain.alerts import alert_timer
from drover.domain.fleet import evolve_past
from drover.domain.fleet.index import is_target
from drover.domain.fleet.policy import JOB_LIVES, PC_CAPACITY_MAX
from drover.domain.fleet.state import AssignmentStatus, Fleet, Job, JobStatus, Pc, Phase
from drover.domain.fleet.supply import is_outstanding
from drover.domain.fleet.timer_keys import job_timer

AN_HOUR = timedelta(hours=1)


def check(fleet: Fleet) -> None:
    _check_jobs(fleet)
    _check_past(fleet)
    _check_assignments(fleet)
    _check_devices(fleet)
    _check_supply(fleet)
    _check_timers(fleet)
    _check_alerts(fleet)
    if not is_outstanding(fleet):
        _check_nothing_is_short(fleet)


def available(fleet: Fleet, device) -> bool:
    return (
        device.alive
        and device.error is None
        and device.held_until is None
        and fleet.pcs[device.pc_id].held_until is None
        and not any(a.phase is not Phase.WAITING for a in _of_device(fleet, device.device_id))
    )


def _of_device(fleet: Fleet, device_id: str):
    return [a for a in fleet.assignments.values() if a.device_id == device_id]


def countable(fleet: Fleet, job: Job, device) -> bool:
    return (
        device.alive and device.error is None and is_target(job, device) and set(job.needs) <= set(device.capabilities)
    )


def check_target(fleet: Fleet, job: Job, pc: Pc) -> None:
    """Just after a slot was taken: all within the PC's capacity, those of eligible devices within the target."""
    eligible = [d for d in fleet.devices.values() if d.pc_id == pc.pc_id and countable(fleet, job, d)]
    at_work = [d for d in eligible if d.assignment is not None]
    assert in_use(fleet, pc) <= min(PC_CAPACITY_MAX, pc.capacity), "more than the PC's slots"
    assert len(at_work) <= min(PC_CAPACITY_MAX, pc.capacity, len(eligible)), "more than the target on a PC"


def in_use(fleet: Fleet, pc: Pc) -> int:
    return sum(
        a.phase is not Phase.WAITING for a in fleet.assignments.values() if fleet.devices[a.device_id].pc_id == pc.pc_id
    )


def _check_jobs(fleet: Fleet) -> None:
    active = [j.job_id for j in fleet.jobs.values() if j.status is JobStatus.ACTIVE]
    assert len(active) <= 1, "two ACTIVE jobs"
    assert active == ([fleet.supply.job_id] if fleet.supply else [])
    queued = [job_id for _, job_id in fleet.queue]
    assert queued == [job.job_id for job in in_order(fleet.jobs[job_id] for job_id in queued)]
    assert set(queued) == {j.job_id for j in fleet.jobs.values() if waits_for_turn(j)}
    assert fleet.open_jobs == sum(j.is_open for j in fleet.jobs.values())
    for job in fleet.jobs.values():
        live = {a.assignment_id: a for a in fleet.assignments.values() if a.job_id == job.job_id}
        assert set(job.live.values()) == live.keys()
        assert all(live[a].device_id == d for d, a in job.live.items())
        assert set(job.waiting) == {i for i, a in live.items() if a.phase is Phase.WAITING}
        assert set(job.offered) == {i for i, a in live.items() if a.phase not in (Phase.WAITING, Phase.RUNNING)}
        assert job.in_flight == sum(a.phase is not Phase.WAITING for a in live.values())
        assert job.present == sum(fleet.devices[d].available for d in job.named)
        if job.spec.target and job.spec.target.count is not None and job.is_open:
            assert job.counted <= job.spec.target.count + len(job.named), "more devices than asked for"
        taken_back = job.status is not JobStatus.ACTIVE and bool(job.offered or (job.has_ended and job.waiting))
        assert (job.job_id in fleet.withdrawing) is taken_back
        assert (job.job_id in fleet.reopening) is (job.is_open and bool(job.cut_off))
        assert not job.cut_off.keys() & job.live.keys()
        assert all(fleet.ended[a].status is AssignmentStatus.CANCELLED for a in job.cut_off.values())
        assert not job.is_scheduled or (job.is_open and job.status is not JobStatus.ACTIVE), "it runs before its time"
        assert len(job.given_up_by) < 2, "enough devices gave the job up, and it goes on"
        assert job.is_open or not job.given_up_by
        assert all(fleet.ended[job.ran[d]].status is AssignmentStatus.FAILED for d in job.given_up_by)


def waits_for_turn(job: Job) -> bool:
    return job.status is JobStatus.CREATED and job.wanted and not job.is_scheduled


def in_order(jobs):
    """Jobs in the order of their turn: put first last, then the highest priority, then the oldest."""
    return sorted(jobs, key=lambda job: (-job.put_first, -job.spec.priority, job.number))


def check_due(fleet: Fleet, job_id: str, wall_now: datetime) -> None:
    """Just before this job comes due: by the wall clock its time has come."""
    assert fleet.jobs[job_id].spec.not_before <= wall_now, "it comes due before its time"


def check_turn(fleet: Fleet, job_id: str) -> None:
    """Just before this job becomes ACTIVE: it is due, and no job that comes before it has a device that could take
    it."""
    assert fleet.active is None, "the ACTIVE job was pre-empted"
    assert waits_for_turn(fleet.jobs[job_id]), "it starts before its time, or while it is paused"
    for job in in_order(j for j in fleet.jobs.values() if waits_for_turn(j)):
        if job.job_id == job_id:
            return
        if job.returned_at == fleet.arrivals:
            continue  # its search has just found no device, and none has come since
        could = [d for d in fleet.devices.values() if countable(fleet, job, d) and available(fleet, d)]
        left = [d for d in could if d.device_id not in job.ran and (job.quota_left != 0 or d.device_id in job.live)]
        assert not left, "a job got its turn before one that comes first"


def _check_past(fleet: Fleet) -> None:
    """The state has no record of ended work but that of open jobs, of the window, and of what leaves within minutes."""
    records = Counter(a for job in fleet.jobs.values() for a in (*job.ran.values(), *job.taken_back))
    assert fleet.ended.keys() == records.keys(), "a record of an assignment that no job knows"
    assert set(records.values()) <= {1}
    window = {job_timer(job.job_id): job for job in fleet.jobs.values() if job.has_ended and not job.live}
    leaving = window.keys() - fleet.past.sizes.keys() - fleet.shelved.sizes.keys()
    assert fleet.past.sizes.keys() | fleet.shelved.sizes.keys() <= window.keys()
    for past in (fleet.past, fleet.shelved):
        assert past.size == sum(past.sizes.values())
        assert len(past.sizes) <= max(1, evolve_past.PAST_JOBS_MAX)
        assert past.size <= evolve_past.PAST_ASSIGNMENTS_MAX or len(past.sizes) == 1
        for timer, size in past.sizes.items():
            assert size == len(window[timer].ran) + len(window[timer].taken_back)
    for timer in leaving:
        assert fleet.timers.due[timer] <= window[timer].updated_at + AN_HOUR, "kept for longer"
    for job in fleet.jobs.values():
        assert len(job.taken_back) <= evolve_past.TAKEN_BACK_MAX + 2 * max(1, len(job.cut_off)), "offers kept for ever"


def _check_assignments(fleet: Fleet) -> None:
    assert not fleet.assignments.keys() & fleet.ended.keys()
    for a in fleet.assignments.values():
        assert 1 <= a.attempt <= 3, "an attempt beyond the third"
        assert (a.assigned_at is None) is (a.phase is Phase.WAITING)
        assert a.phase not in (Phase.SENT, Phase.RUNNING) or a.sent_at is not None
    running = Counter(a.device_id for a in fleet.assignments.values() if a.phase is Phase.RUNNING)
    assert all(count == 1 for count in running.values()), "two run on a device"
    holding = Counter(a.device_id for a in fleet.assignments.values() if a.phase is not Phase.WAITING)
    assert all(count == 1 for count in holding.values()), "two in flight on a device"


def _check_devices(fleet: Fleet) -> None:
    assert fleet.available == sum(d.available for d in fleet.devices.values())
    for device in fleet.devices.values():
        held = [a for a in _of_device(fleet, device.device_id) if a.phase is not Phase.WAITING]
        assert [device.assignment] == ([a.assignment_id for a in held] or [None])
        assert device.running is any(a.phase is Phase.RUNNING for a in held)
        assert device.available is available(fleet, device)
        assert not device.running or device.alive, "busy and not heard: its work should have been rolled back"
        named = {j.job_id for j in fleet.jobs.values() if device.device_id in j.named}
        assert set(device.named_in) == named
    for pc in fleet.pcs.values():
        assert set(pc.devices) == {d.device_id for d in fleet.devices.values() if d.pc_id == pc.pc_id}
        assert pc.in_use == in_use(fleet, pc)
        assert pc.heard == sum(fleet.devices[d].alive for d in pc.devices)
        assert pc.silent.keys() <= {d for d in pc.devices if not fleet.devices[d].alive}
        assert pc.available == sum(fleet.devices[d].available for d in pc.devices)
        offered = {
            a.assignment_id
            for a in fleet.assignments.values()
            if a.phase is Phase.OFFERED and fleet.devices[a.device_id].pc_id == pc.pc_id
        }
        assert set(pc.offered) == offered
    for group, members in fleet.groups.items():
        assert set(members) == {d.device_id for d in fleet.devices.values() if d.group_id == group}
        assert fleet.available_in_group.get(group, 0) == sum(fleet.devices[d].available for d in members)


def _check_supply(fleet: Fleet) -> None:
    supply = fleet.supply
    if supply is None:
        assert not fleet.hungry
        assert not fleet.resuming
        return
    job = fleet.jobs[supply.job_id]
    seen = [pc for pc in fleet.pcs.values() if pc.seen_in == supply.look]
    for pc in seen:
        devices = [fleet.devices[d] for d in pc.devices]
        comes = [d for d in devices if countable(fleet, job, d) and d.device_id not in job.ran]
        could = [d for d in comes if available(fleet, d)]
        assert pc.countable == sum(countable(fleet, job, d) for d in devices)
        assert set(pc.back) == {d.device_id for d in could if d.device_id in job.live}
        assert set(pc.free) == {d.device_id for d in could if d.device_id not in job.live}
        has_slot = pc.in_use < min(PC_CAPACITY_MAX, pc.capacity)
        assert (pc.pc_id in fleet.hungry) is (has_slot and bool(pc.free))
        assert (pc.pc_id in fleet.resuming) is (has_slot and bool(pc.back))
    assert supply.free == sum(len(pc.free) for pc in seen)
    assert supply.back == sum(len(pc.back) for pc in seen)
    assert supply.expected == sum(fleet.devices[d].expected for pc in seen for d in pc.devices)


def _check_timers(fleet: Fleet) -> None:
    expected = {f"a:{a.assignment_id}" for a in fleet.assignments.values() if a.phase is not Phase.WAITING}
    expected |= {f"d:{d.device_id}" for d in fleet.devices.values() if d.held_until or (d.error and d.error.until)}
    expected |= {f"j:{job_id}" for job_id in fleet.jobs}
    expected |= {f"s:{job.job_id}" for job in fleet.jobs.values() if job.is_scheduled}
    expected |= {f"p:{pc.pc_id}" for pc in fleet.pcs.values() if pc.held_until}
    found = {key for key in fleet.timers.due if not key.startswith("l:")}
    assert found == expected
    for job in fleet.jobs.values():
        if job.is_scheduled:
            due = job.spec.not_before + timedelta(seconds=fleet.ahead_s)
            assert fleet.timers.due[f"s:{job.job_id}"] == due, "a schedule does not follow the wall clock"
            assert fleet.timers.due[job_timer(job.job_id)] == due + JOB_LIVES
    first = fleet.timers.first()
    assert (first[0] if first else None) == (min(fleet.timers.due.values()) if fleet.timers.due else None)


def _check_alerts(fleet: Fleet) -> None:
    for key, snooze in fleet.snoozes.items():
        assert fleet.timers.due.get(alert_timer(f"~{key}")) == snooze.until, "a snooze would never end"
    for pc in fleet.pcs.values():
        if f"host_silent:{pc.pc_id}" in fleet.alerts:
            assert pc.devices, "an alert about a PC without phones"
            assert not any(fleet.devices[d].alive for d in pc.devices), "a silent PC has a phone that is heard"
    waits = {d.device_id for d in fleet.devices.values() if d.error and d.error.condition == "needs_reset"}
    told = {key.partition(":")[2] for key in fleet.alerts if key.startswith("needs_reset:")}
    assert told == waits, "exactly the phones that wait for a reset are told of"


def check_silence(fleet: Fleet, device_id: str, silent_since: dict[str, datetime], now: datetime) -> None:
    """Just after this phone fell silent: where it was the last of its PC, and not the only one, there is an alert."""
    pc_id = fleet.devices[device_id].pc_id
    phones = [d for d in fleet.devices.values() if d.pc_id == pc_id]
    together = [d for d in phones if now - silent_since.get(d.device_id, datetime.min.replace(tzinfo=UTC)) <= AN_HOUR]
    if not any(d.alive for d in phones) and len(together) > 1:
        assert f"host_silent:{pc_id}" in fleet.alerts, "a PC vanished without an alert"


def _check_nothing_is_short(fleet: Fleet) -> None:
    """Nothing is left to do: then every PC has what it should have."""
    job = fleet.active
    if job is None:
        for waiting in fleet.jobs.values():
            if not waits_for_turn(waiting):
                continue
            could = [
                d
                for d in fleet.devices.values()
                if countable(fleet, waiting, d) and available(fleet, d) and d.device_id not in waiting.ran
            ]
            quota = waiting.quota_left
            resumable = [d for d in could if d.device_id in waiting.live]
            assert not resumable, "a job waits while a device could go on with it"
            assert quota == 0 or not could, "a job waits while a device could take it"
        return
    for pc in fleet.pcs.values():
        if in_use(fleet, pc) >= min(PC_CAPACITY_MAX, pc.capacity):
            continue
        could = [
            d
            for d in fleet.devices.values()
            if d.pc_id == pc.pc_id and countable(fleet, job, d) and available(fleet, d) and d.device_id not in job.ran
        ]
        assert not [d for d in could if d.device_id in job.live], "supply is short: a device could go on"
        assert job.quota_left == 0 or not could, "supply is short"
