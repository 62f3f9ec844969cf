"""`/agent/v1/connect`: the agents' sockets of this process. The modules `agent_…` have the protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final

from aiohttp import web

from drover.domain.fleet.events import FleetEvent
from drover.gateway.agent_connection import Connection
from drover.gateway.agent_delivery import DeliveryContext, Offers
from drover.gateway.agent_dispatch import Dispatch
from drover.gateway.agent_greeting import RosterMoves, TurnedAway, greet
from drover.gateway.agent_protocol import FRAME_BYTES_MAX, Bye, CloseCode
from drover.gateway.agent_registry import Registry
from drover.gateway.agent_session import PATH, Reports, Session, Surroundings, Telemetry
from drover.gateway.limits import DeviceLimits
from drover.gateway.roster import Roster
from drover.web.access import Access
from drover.web.errors import ApiError
from drover.web.limits import LIMITED
from drover.web.permissions import Verb
from drover.web.ratelimit import Limited
from drover.web.route import BY_HANDLER, Answer, Route, Socket, handles

FAREWELL_S: Final = 4.0
"""Seconds at shutdown for the pending answers, the goodbye and the close of all sockets together."""


_CLOSE: Final = {401: CloseCode.BAD_KEY, 503: CloseCode.RESTART}
"""The code with which a socket is closed, by the HTTP status of the error. After RESTART, an agent connects again."""


class AgentSockets:
    """Accepts the sockets of agents, and gets every commit from the roster. Each process has one."""

    def __init__(
        self,
        access: Access,
        roster: Roster,
        offers: Offers,
        reports: Reports,
        telemetry: Telemetry,
        limits: DeviceLimits,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._access = access
        registry, context = Registry(), DeliveryContext(roster, offers)
        self._around = Surroundings(roster, registry, context, reports, telemetry, limits, access.limits, clock)
        self._dispatch = Dispatch(roster, registry, context)
        self._moves = RosterMoves()
        roster.subscribe(self._hear)
        access.auth.on_change(self._look)

    @handles(
        Route(
            method="GET",
            path=PATH,
            id="connectAgent",
            tag="agents",
            summary="The agents' WebSocket: work is pushed, heartbeats and reports come back",
            description="Frames are described in docs/agents.md.",
            permission=BY_HANDLER,
            limit=BY_HANDLER,
            identifies=True,
            answers={101: Answer(None, "Switching protocols")},
            errors=(400, 426, 503),
            # + 1: aiohttp also refuses a frame of exactly its maximum.
            socket=Socket(frame_bytes_max=FRAME_BYTES_MAX + 1, close_s=FAREWELL_S),
        )
    )
    async def accept(self, request: web.Request) -> AgentSocket:
        return AgentSocket(self, request)

    def _hear(self, events: Sequence[FleetEvent]) -> None:
        self._moves.commit()
        self._dispatch.hear(events)

    def _look(self) -> None:
        for session in self._around.registry:
            session.look(self._access.auth)

    async def greet(self, connection: Connection, request: web.Request) -> Session | None:
        """Start a session. None: the socket was closed with a code that says why.

        A bad key, too, is answered by closing the open socket: many clients do not show why an upgrade was refused.
        """
        try:
            principal = self._access.identify(request)
            check_key = partial(self._access.identify, request)
            try:
                grant = self._access.permissions.demand(principal, "agent", Verb.CONNECT)
                return await greet(connection, principal, grant, self._around, self._moves, check_key)
            except Limited:
                raise
            except (ApiError, TurnedAway):  # there is no device whose limit could count it
                self._access.limits.count(principal, request)
                raise
        except Limited as limited:
            LIMITED.labels(limited.kind, PATH).inc()
            connection.turn_away(limited)
        except ApiError as error:
            connection.fault(error.code, error.message)
            connection.end(_CLOSE.get(error.status, CloseCode.NOT_ALLOWED))
        except TurnedAway as error:
            connection.fault(error.code, error.message)
            connection.end(error.close)
        return None


class AgentSocket:
    """One socket from its upgrade to its close. Has the methods that `web.sockets` calls."""

    def __init__(self, sockets: AgentSockets, request: web.Request) -> None:
        self._sockets = sockets
        self._request = request
        self._connection: Connection | None = None
        self._session: Session | None = None

    async def run(self, socket: web.WebSocketResponse) -> None:
        self._connection = connection = Connection(socket, self._request.transport)
        async with connection.running():
            self._session = await self._sockets.greet(connection, self._request)
            if self._session is not None:
                await self._session.run()

    async def leave(self) -> None:
        """At shutdown: answer reports in flight, then announce the restart."""
        if self._session is not None:
            await self._session.finish()
        if self._connection is not None:
            await self._connection.end(CloseCode.RESTART, bye=Bye("The server restarts"))
