"""Sends work to one agent over its socket, and tells it when a run is withdrawn. Which device gets which work is
decided elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final, Protocol

import msgspec
import structlog

from drover.domain.backoff import Backoff
from drover.domain.fleet.state import Assignment, Phase
from drover.gateway.agent_metrics import DELIVERIES, OFFERS_PUSHED
from drover.gateway.agent_protocol import Offer, Over, Withdrawn
from drover.gateway.roster import Roster
from drover.service import tracing
from drover.service.tasks import end
from drover.service.tracing import begin, end_request
from drover.web.auth import Principal
from drover.web.errors import ApiError

DELIVERIES_MAX: Final = 256
"""Maximum of concurrent deliveries of this process; others wait. The commands of concurrent deliveries are sent
together in a few NATS messages."""
DELIVERY_TRIES_MAX: Final = 8
DELIVERY: Final = Backoff(first_s=1.0, max_s=30.0)
"""The pauses between tries to deliver an offer. An offer is withdrawn after 90 s."""

log = structlog.get_logger("drover.gateway")


class Offers(Protocol):
    """The methods of `drover.gateway.offers.Offers` that are called here."""

    def waiting(self, device_id: str) -> Assignment | None: ...

    async def deliver(self, assignment: Assignment, principal: Principal) -> dict[str, Any] | None: ...


class Given(msgspec.Struct):
    """One run that the agent has, or that is being delivered to it."""

    run: int
    pushed: bool = False
    """Whether the run was sent to the agent."""
    ended_by_agent: bool = False
    """Whether the agent's final report is being recorded or was recorded, so that the agent need not be told that the
    run ended."""


class DeliveryContext:
    """What the deliveries of all agents of a process share."""

    def __init__(self, roster: Roster, offers: Offers) -> None:
        self.roster = roster
        self.offers = offers
        self.holder: dict[str, AgentDeliveries] = {}
        """By assignment: the agent that has its current run."""
        self.deliveries = asyncio.Semaphore(DELIVERIES_MAX)


class AgentDeliveries:
    """The runs of one agent, on one of its sockets. Each is sent once. After a reconnect, a run that was sent and not
    started is sent again, unless the agent's `hello` names it."""

    def __init__(
        self, context: DeliveryContext, principal: Principal, put: Callable[[Offer | Withdrawn], None]
    ) -> None:
        self._context = context
        self._principal = principal
        self._put = put
        self._given: dict[str, Given] = {}
        """The agent's runs by assignment: at most one for each device of the session, and those that the agent reported
        as held."""
        self._deliveries: set[asyncio.Task[None]] = set()

    def holds(self, assignment_id: str, run: int) -> None:
        """Remember a run that the agent reported in its first frame (`hello`) and may continue."""
        self._take(assignment_id, Given(run, pushed=True))

    def offer(self, assignment: Assignment) -> None:
        """Deliver an offered assignment: send it to the agent as soon as it is recorded as sent."""
        given = self._given.get(assignment.assignment_id)
        if given is not None and given.run >= assignment.run:
            return
        given = self._take(assignment.assignment_id, Given(assignment.run))
        delivery = asyncio.create_task(self._deliver(assignment.assignment_id, given), name="agent-delivery")
        self._deliveries.add(delivery)
        delivery.add_done_callback(self._deliveries.discard)

    def over(self, assignment_id: str, run: int | None, reason: Over | None) -> None:
        """Forget a run that has ended. `run` None: whichever run of the assignment the agent has. Send the reason, if
        any, to the agent, unless the agent itself ended the run."""
        given = self._given.get(assignment_id)
        if given is None or (run is not None and run != given.run):
            return
        self._forget(assignment_id)
        if reason is not None and given.pushed and not given.ended_by_agent:
            self._put(Withdrawn(assignment_id, given.run, reason))

    def reported_end(self, assignment_id: str, run: int | None, *, recorded: bool) -> None:
        """Remember that the agent has reported the end of a run. `recorded` is false if the report was refused: then
        the agent is still told how the run ended."""
        given = self._given.get(assignment_id)
        if given is not None and run in (None, given.run):
            given.ended_by_agent = recorded

    def drop_all(self) -> None:
        """Forget all runs, because the agent has disconnected. What was sent stays recorded as sent, and is sent again
        on the agent's next socket."""
        for assignment_id in [*self._given]:
            self._forget(assignment_id)

    async def close(self) -> None:
        """Cancel unfinished deliveries."""
        await end(*self._deliveries)

    def _take(self, assignment_id: str, given: Given) -> Given:
        other = self._context.holder.get(assignment_id)
        if other is not None and other is not self:
            other._forget(assignment_id)
        self._given[assignment_id] = given
        self._context.holder[assignment_id] = self
        return given

    def _forget(self, assignment_id: str) -> None:
        self._given.pop(assignment_id, None)
        if self._context.holder.get(assignment_id) is self:
            del self._context.holder[assignment_id]

    async def _deliver(self, assignment_id: str, given: Given) -> None:
        place, started = begin(None), perf_counter()
        row: dict[str, Any] | None = None
        with DELIVERIES.track_inprogress():
            try:
                row = await self._recorded(assignment_id, given)
            except Exception:
                log.exception("delivery_failed", assignment_id=assignment_id, run=given.run)
        if tracing.recorder is not None:
            end_request(place, "agent delivery", started, {}, failed=row is None)
        if self._given.get(assignment_id) is not given:
            return  # the run ended in the meantime, or another socket speaks for the device now
        if row is None:
            self._forget(assignment_id)
            return
        given.pushed = True
        self._put(Offer(row))
        OFFERS_PUSHED.inc()

    async def _recorded(self, assignment_id: str, given: Given) -> dict[str, Any] | None:
        """Record the run as sent, and return its row. None: it must not be delivered any more.

        Retries while the writer is unavailable, because a phone that does not take an offer gets no work for a
        while.
        """
        for failures in range(DELIVERY_TRIES_MAX):
            if failures:
                await asyncio.sleep(DELIVERY.pause_s(failures))
            async with self._context.deliveries:
                assignment = self._context.roster.fleet.assignments.get(assignment_id)
                if assignment is None or assignment.run != given.run or assignment.phase not in _TO_GIVE:
                    return None
                try:
                    return await self._context.offers.deliver(assignment, self._principal)
                except ApiError as error:
                    if error.status < 500:
                        raise
                    log.debug("delivery_put_off", assignment_id=assignment_id, run=given.run, code=error.code)
        return None


_TO_GIVE: Final = (Phase.OFFERED, Phase.SENT)
