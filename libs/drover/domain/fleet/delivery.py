"""Delivery of offers to agents: by a poll, a push, or a PC that fetches for several phones."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import islice

from drover.domain.alerts import resolve_alert
from drover.domain.decider import NOTHING, Decision, accept, answer, reject
from drover.domain.errors import Code
from drover.domain.event import Event
from drover.domain.fleet.alerts import HOST_SILENT
from drover.domain.fleet.commands import ClaimForPc, SendAttempt
from drover.domain.fleet.events import AttemptSent, DeviceCameOnline
from drover.domain.fleet.index import wants
from drover.domain.fleet.policy import ATTEMPT_TIMEOUT, FOLLOW_UP_EVENTS_MAX
from drover.domain.fleet.starts import begin
from drover.domain.fleet.state import Assignment, Fleet, Pc, Phase
from drover.domain.fleet.supply import follow_up, next_consequence
from drover.domain.fleet.withdrawal import attempt_of, take_back

EVENTS_PER_START = 3
"""The most events that the start of a run needs: sent, started, and the end of an alert."""


def send_attempt(fleet: Fleet, command: SendAttempt, now: datetime) -> Decision:
    assignment = fleet.assignments.get(command.assignment_id)
    if assignment is None or assignment.run != command.run:
        return _taken_back(command)
    if assignment.phase is Phase.SENT:
        return NOTHING  # already delivered
    if assignment.phase is not Phase.OFFERED:
        return _taken_back(command)  # also if it already runs: the agent must not start it again
    job = fleet.jobs[assignment.job_id]
    if not wants(job, fleet.devices[assignment.device_id]):
        # The job now needs a capability that this device lacks: take the offer back before the attempt fails.
        return accept(*take_back(job, assignment, "needs"), then=follow_up())
    return accept(_sent(assignment, now))


def _taken_back(command: SendAttempt) -> Decision:
    return reject(Code.CONFLICT, "This offer has been taken back", assignment_id=command.assignment_id)


def _sent(assignment: Assignment, now: datetime) -> AttemptSent:
    return AttemptSent(*attempt_of(assignment), now + ATTEMPT_TIMEOUT)


def claim_for_pc(fleet: Fleet, command: ClaimForPc, now: datetime) -> Decision:
    """Deliver to a PC the offers that its phones have not fetched yet, and further offers that `supply` can make.

    Claimed work counts as begun. The claim is also a sign of life of the PC's phones, so they count as online.
    """
    pc = fleet.pcs.get(command.pc_id)
    if pc is None:
        return reject(Code.NOT_FOUND, "PC not found", pc_id=command.pc_id)
    offered = [fleet.assignments[assignment_id] for assignment_id in pc.offered]
    misplaced = [a for a in offered if not _wanted(fleet, a)]
    events: list[Event] = [DeviceCameOnline(device_id) for device_id in _unheard(fleet, pc)]
    if events:
        events += resolve_alert(fleet, HOST_SILENT, pc.pc_id, "heard")
    events += [event for a in misplaced for event in take_back(fleet.jobs[a.job_id], a, "needs")]
    claiming = _claiming(pc.pc_id, command.max_to_claim, FOLLOW_UP_EVENTS_MAX)
    if events:
        return accept(*events, then=claiming)
    decision = claiming(fleet, now)
    return decision if decision.events else answer([])


def _unheard(fleet: Fleet, pc: Pc) -> list[str]:
    return [device_id for device_id in pc.devices if not fleet.devices[device_id].alive]


def _wanted(fleet: Fleet, assignment: Assignment) -> bool:
    return wants(fleet.jobs[assignment.job_id], fleet.devices[assignment.device_id])


def _claiming(pc_id: str, left: int, events_max: int) -> Callable[[Fleet, datetime], Decision]:
    """Make a decision that claims at most `left` offers of the PC. If no offer waits, it takes the next step of supply
    instead, which may make offers. Such decisions follow one another until supply has nothing to do."""

    def carry_on(fleet: Fleet, now: datetime) -> Decision:
        if events_max <= 0:
            return NOTHING
        offered = (fleet.assignments[assignment_id] for assignment_id in fleet.pcs[pc_id].offered)
        some = list(islice((a for a in offered if _wanted(fleet, a)), min(left, events_max // EVENTS_PER_START)))
        events = [event for a in some for event in begin(fleet, a, now, by_pc=True)]
        events = events or next_consequence(fleet, now, events_max)
        if not events:
            return NOTHING
        return Decision(events=events, then=_claiming(pc_id, left - len(some), events_max - len(events)))

    return carry_on
