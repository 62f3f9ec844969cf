"""Delivery of offers to agents: by a poll, a push, or a PC that fetches for several phones."""

from __future__ import annotations

from datetime import datetime
from itertools import islice

from drover.domain.decider import NOTHING, Decision, accept, answer, reject
from drover.domain.errors import Code
from drover.domain.fleet.commands import ClaimForPc, SendAttempt
from drover.domain.fleet.events import AttemptSent
from drover.domain.fleet.index import wants
from drover.domain.fleet.policy import ATTEMPT_TIMEOUT
from drover.domain.fleet.state import Assignment, Fleet, Phase
from drover.domain.fleet.supply import follow_up
from drover.domain.fleet.withdrawal import attempt_of, take_back


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
        # The job now needs a capability that this device lacks: take it back before it fails there.
        return accept(*take_back(job, assignment, "needs"), then=follow_up())
    return accept(_sent(assignment, now))


def _taken_back(command: SendAttempt) -> Decision:
    return reject(Code.CONFLICT, "This offer has been taken back", assignment_id=command.assignment_id)


def _sent(assignment: Assignment, now: datetime) -> AttemptSent:
    return AttemptSent(*attempt_of(assignment), now + ATTEMPT_TIMEOUT)


def claim_for_pc(fleet: Fleet, command: ClaimForPc, now: datetime) -> Decision:
    """Deliver to a PC the offers that its phones have not fetched yet. It gets no others: `supply` has already made an
    offer for each free slot."""
    pc = fleet.pcs.get(command.pc_id)
    if pc is None:
        return reject(Code.NOT_FOUND, "PC not found", pc_id=command.pc_id)
    offered = [fleet.assignments[assignment_id] for assignment_id in pc.offered]
    misplaced = [a for a in offered if not wants(fleet.jobs[a.job_id], fleet.devices[a.device_id])]
    wanted = (a for a in offered if a not in misplaced)
    sent = [_sent(assignment, now) for assignment in islice(wanted, command.max_to_claim)]
    events = [event for a in misplaced for event in take_back(fleet.jobs[a.job_id], a, "needs")]
    return accept(*sent, *events, then=follow_up()) if sent or events else answer([])
