"""Supply: gives work to free slots, ends jobs, activates the next job, withdraws the offers of ended jobs, and opens
assignments by name again when their job is opened again.

It works in small steps, and the state holds what is left to do. A command takes steps until nothing is left or it
reaches its maximum of events; then ticks of the clock continue.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import count, islice

from drover.domain.decider import Decision
from drover.domain.event import Event
from drover.domain.fleet.events import (
    AssignmentReopened,
    AttemptCreated,
    JobActivated,
    JobCompleted,
    JobReturned,
    SupplyAdvanced,
    Target,
)
from drover.domain.fleet.index import is_look_over, pcs_to_see, slots
from drover.domain.fleet.policy import FOLLOW_UP_EVENTS_MAX, SWEEP_PCS_MAX, WITHDRAWALS_MAX
from drover.domain.fleet.state import Fleet, Job, Pc
from drover.domain.fleet.withdrawal import take_back
from drover.domain.follow_up import Step, take_steps
from drover.domain.ids import derived_uuid


def follow_up(*steps: Step[Fleet]) -> Callable[[Fleet, datetime], Decision]:
    """Make a function for `Decision.then` that continues a decision: it takes these steps first, then those of
    supply."""
    return take_steps((*steps, next_consequence), events_max=FOLLOW_UP_EVENTS_MAX)


def is_outstanding(fleet: Fleet) -> bool:
    """Whether `next_consequence` has something to do. Must be cheap, because it is called after every command."""
    if fleet.withdrawing or fleet.reopening or fleet.resuming or (fleet.hungry and _may_go_further(fleet)):
        return True
    if fleet.supply is not None:
        return not is_look_over(fleet) or _is_done(fleet)
    return fleet.next_job is not None


def next_consequence(fleet: Fleet, now: datetime, events_max: int) -> list[Event]:
    if fleet.withdrawing:
        return _withdraw(fleet, min(WITHDRAWALS_MAX, events_max // 2 + 1))
    if fleet.reopening:
        return _reopen(fleet.jobs[next(reversed(fleet.reopening))], events_max)
    if fleet.resuming:
        return _resume(fleet, fleet.pcs[next(reversed(fleet.resuming))], events_max)
    if fleet.hungry and _may_go_further(fleet):
        return _supply(fleet, fleet.pcs[next(reversed(fleet.hungry))], events_max)
    if fleet.supply is not None:
        if not is_look_over(fleet):
            pcs = min(SWEEP_PCS_MAX, len(pcs_to_see(fleet)))
            return [SupplyAdvanced(fleet.supply.job_id, pcs)]
        return _finish(fleet) if _is_done(fleet) else []
    return [] if fleet.next_job is None else [JobActivated(fleet.next_job)]


def _withdraw(fleet: Fleet, assignments_max: int) -> list[Event]:
    job = fleet.jobs[next(reversed(fleet.withdrawing))]
    reason = job.status.value
    # Take from the end: O(1) for dicts.
    some = list(islice(reversed(job.offered), assignments_max))
    if job.has_ended:
        some += islice(reversed(job.waiting), assignments_max - len(some))
    return [event for assignment in some for event in take_back(job, fleet.assignments[assignment], reason)]


def _reopen(job: Job, events_max: int) -> list[Event]:
    """Open the assignments again that were cut off when the job was deactivated."""
    some = islice(reversed(job.cut_off.items()), max(1, events_max))
    return [AssignmentReopened(assignment_id, job.job_id, device_id) for device_id, assignment_id in some]


def _may_go_further(fleet: Fleet) -> bool:
    job = fleet.active
    return job is not None and job.quota_left != 0


def _missing(pc: Pc) -> int:
    return max(0, slots(pc) - pc.in_use)


def _resume(fleet: Fleet, pc: Pc, events_max: int) -> list[Event]:
    """Continue the assignments whose devices are available again, each with its remaining attempts."""
    job = fleet.active
    assert job is not None
    return [resumed(fleet, job.live[device_id]) for device_id in islice(pc.back, min(_missing(pc), events_max))]


def resumed(fleet: Fleet, assignment_id: str) -> AttemptCreated:
    """Make the event that starts the next run of an existing assignment."""
    assignment = fleet.assignments[assignment_id]
    return AttemptCreated(
        assignment_id,
        assignment.job_id,
        assignment.device_id,
        assignment.run + 1,
        assignment.attempt,
        fleet.devices[assignment.device_id].pc_id,
    )


def _supply(fleet: Fleet, pc: Pc, events_max: int) -> list[Event]:
    """Make one new assignment for each free slot."""
    job = fleet.active
    assert job is not None
    wanted = min(_missing(pc), events_max)
    if (left := job.quota_left) is not None:
        wanted = min(wanted, left)
    return [
        AttemptCreated(_new_id(fleet, job, job.made + place), job.job_id, device_id, run=1, attempt=1, pc_id=pc.pc_id)
        for place, device_id in enumerate(islice(pc.free, wanted))
    ]


def _new_id(fleet: Fleet, job: Job, number: int) -> str:
    """Make an id that no assignment in the state has. The number of the job keeps it apart from assignments of an
    earlier job with the same id, the salt from ids that clients have chosen."""
    for salt in count():
        found = derived_uuid(job.job_id, job.number, number, salt)
        if found not in fleet.assignments and found not in fleet.ended:
            return found
    raise AssertionError("unreachable: count() never ends")


def _is_done(fleet: Fleet) -> bool:
    """Whether the ACTIVE job is done: none of its assignments is in flight or could go on, and either it has its number
    of devices or no online device is left for it.

    A job that has not run anywhere yet does not wait for devices that are busy or get no offers: other jobs may go
    first.
    """
    supply, job = fleet.supply, fleet.active
    assert supply is not None
    assert job is not None
    if job.in_flight or supply.back:
        return False
    return job.quota_left == 0 or (supply.free == 0 and (supply.expected == 0 or not job.ran))


def _finish(fleet: Fleet) -> list[Event]:
    job = fleet.active
    assert job is not None
    if not job.ran:
        return [JobReturned(job.job_id)]
    return [JobCompleted(job.job_id, job.completed, job.failed, _skipped(fleet, job))]


def _skipped(fleet: Fleet, job: Job) -> int:
    """Count the target devices that did not run the job."""
    target = job.spec.target
    if target is None:
        return len(fleet.devices) - len(job.ran)
    if target.count is not None:
        # Devices that people named beyond the count still wait: they are skipped, too.
        return max(len(job.live), target.count + job.replaced - len(job.ran))
    # Compare sets, not numbers: a device that ran the job, or waits for its retry, may have left the targeted PC or
    # group.
    return len(({**_members(fleet, target), **job.named}.keys() | job.live.keys()) - job.ran.keys())


def unreached(fleet: Fleet, job: Job) -> int:
    """Count the target devices that have no live assignment of the job and where it has not run."""
    known = job.ran.keys() | job.live.keys()
    target = job.spec.target
    if target is None:
        return len(fleet.devices) - len(known)
    if target.count is not None:
        return max(0, target.count + job.replaced - len(known))
    return len({**_members(fleet, target), **job.named}.keys() - known)


def _members(fleet: Fleet, target: Target) -> dict[str, None]:
    if target.pc_id is not None:
        return fleet.pcs[target.pc_id].devices if target.pc_id in fleet.pcs else {}
    return {} if target.group_id is None else fleet.groups.get(target.group_id, {})
