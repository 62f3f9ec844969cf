"""Handing out work: recorded as SENT before anybody sees it. Which assignment a device gets is the decider's rule."""

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
"""Taken back, or handed out anew, since the roster heard of it."""


class Offers:
    """What waits for a device, and its delivery. Poll and socket share it, so that one run is recorded once."""

    def __init__(self, roster: Roster, client: CommandClient) -> None:
        self._roster = roster
        self._client = client
        self._sending: dict[tuple[str, int], asyncio.Task[Outcome]] = {}
        """Deliveries on their way to the log: at most one for each device that has an offer."""

    def waiting(self, device_id: str) -> Assignment | None:
        """What this device would be given now. There is never more than one: a device has one thing in hand."""
        fleet = self._roster.fleet
        device = fleet.devices.get(device_id)
        if device is None or device.assignment is None:
            return None
        assignment = fleet.assignments[device.assignment]
        return assignment if assignment.phase in (Phase.OFFERED, Phase.SENT) else None

    async def deliver(self, assignment: Assignment, principal: Principal) -> Row | None:
        """The row to give to the agent, with its job in it, once SENT is on disk; None: it is not its work any more.

        What was sent already is given again as it is, but the writer is asked all the same: it records nothing, and
        this roster may not have heard yet that the run has begun or ended. While the writer is away: 503.
        """
        run = assignment.run
        outcome = await self._send(assignment, principal)
        if isinstance(outcome, Rejected):
            if outcome.code in _GONE:
                return None
            raise self._client.refusal(outcome)
        if outcome.position and not outcome.result:
            return None  # the writer looked again and took it back instead
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
            origin = origin_of(principal, route="deliver", device=assignment.device_id)
            sending = self._sending[key] = asyncio.create_task(self._client.outcome(SendAttempt(*key), origin))
            sending.add_done_callback(lambda _: self._sending.pop(key))
        # Shielded: of two who wait for the same delivery, one that hangs up must not take it from the other.
        return await asyncio.shield(sending)
