"""Delivers work: recorded as SENT before an agent sees it. The decider chooses the assignment of a device."""

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
"""It was withdrawn or delivered again after the roster's last update."""


class Offers:
    """The offer that waits for a device, and its delivery. Poll and socket share it, so that a run is recorded once."""

    def __init__(self, roster: Roster, client: CommandClient) -> None:
        self._roster = roster
        self._client = client
        self._sending: dict[tuple[str, int], asyncio.Task[Outcome]] = {}
        """Deliveries in flight to the log: at most one for each device that has an offer."""

    def waiting(self, device_id: str) -> Assignment | None:
        """The assignment that this device would get now. At most one: a device has one run at a time."""
        fleet = self._roster.fleet
        device = fleet.devices.get(device_id)
        if device is None or device.assignment is None:
            return None
        assignment = fleet.assignments[device.assignment]
        return assignment if assignment.phase in (Phase.OFFERED, Phase.SENT) else None

    async def deliver(self, assignment: Assignment, principal: Principal) -> Row | None:
        """The row for the agent, with its job embedded, after SENT is on disk; None: it is no longer its work.

        A run that was already sent is delivered again unchanged. The writer is asked nevertheless, and records nothing:
        the roster may not know yet that the run has started or ended. While the writer is away: 503.
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
