"""Delivers work to agents: an assignment is recorded as SENT before its agent gets it. The writer has chosen the
device."""

from __future__ import annotations

import asyncio
from typing import Final

from drover.bus.messages import Outcome, Rejected
from drover.domain.errors import Code
from drover.domain.fleet.commands import SendAttempt
from drover.domain.fleet.state import Assignment, Phase
from drover.gateway.roster import Roster
from drover.gateway.rows import Row, offer_row
from drover.web.auth import Principal
from drover.web.commands import CommandClient, origin_of

_GONE: Final = frozenset({Code.NOT_FOUND, Code.CONFLICT, Code.STALE_ATTEMPT})
"""Error codes which mean that the offer was withdrawn, or delivered again, after the last update of the roster."""


class Offers:
    """Finds the assignment that waits for a device, and delivers it. Polls and sockets share one object, so that a run
    is recorded once."""

    def __init__(self, roster: Roster, client: CommandClient) -> None:
        self._roster = roster
        self._client = client
        self._sending: dict[tuple[str, int], asyncio.Task[Outcome]] = {}
        """Tasks that record that an offer was delivered, by assignment and run."""

    def waiting(self, device_id: str) -> Assignment | None:
        """Return the assignment that this device would get now; None if there is none. There is at most one, because a
        device has one run at a time."""
        fleet = self._roster.fleet
        device = fleet.devices.get(device_id)
        if device is None or device.assignment is None:
            return None
        assignment = fleet.assignments[device.assignment]
        return assignment if assignment.phase in (Phase.OFFERED, Phase.SENT) else None

    async def deliver(self, assignment: Assignment, principal: Principal) -> Row | None:
        """Record the assignment as SENT, and return its row for the agent, with its job. None: the work is no longer
        this device's.

        A run that was already sent is returned again unchanged. Even then the writer is asked, though it records
        nothing, because the roster may not know yet that the run has started or ended. Raises 503 while the writer is
        unavailable.
        """
        run = assignment.run
        outcome = await self._send(assignment, principal)
        if isinstance(outcome, Rejected):
            if outcome.code in _GONE:
                return None
            raise self._client.refusal(outcome)
        if outcome.position and not outcome.result:
            return None  # the writer withdrew it instead
        await self._client.wait_local(outcome.position)
        fleet = self._roster.fleet
        current = fleet.assignments.get(assignment.assignment_id)
        if current is None or current.run != run or current.phase not in (Phase.OFFERED, Phase.SENT):
            return None
        return offer_row(fleet, current)

    async def _send(self, assignment: Assignment, principal: Principal) -> Outcome:
        key = (assignment.assignment_id, assignment.run)
        sending = self._sending.get(key)
        if sending is None:
            origin = origin_of(principal, route="deliver")
            sending = self._sending[key] = asyncio.create_task(self._client.outcome(SendAttempt(*key), origin))
            sending.add_done_callback(lambda _: self._sending.pop(key))
        # Shielded: if two callers wait for the same delivery, one that disconnects must not cancel it for the other.
        return await asyncio.shield(sending)
