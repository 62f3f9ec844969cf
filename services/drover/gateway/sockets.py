"""`/agent/v1/connect`: the agents' sockets of this process. The modules `agent_…` have the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from aiohttp import web

from drover.domain.fleet.events import FleetEvent
from drover.gateway.agent_connection import Connection
from drover.gateway.agent_delivery import DeliveryContext, Offers
from drover.gateway.agent_dispatch import Dispatch
from drover.gateway.agent_greeting import RosterMoves, TurnedAway, greet
from drover.gateway.agent_protocol import FRAME_BYTES_MAX, Bye, CloseCode
from drover.gateway.agent_registry import Registry
from drover.gateway.agent_session import Reports, Session, Surroundings, Telemetry
from drover.gateway.roster import Roster
from drover.web.auth import Authenticator
from drover.web.errors import ApiError
from drover.web.permissions import Permissions, Verb
from drover.web.route import BY_HANDLER, Answer, Route, Socket, handles

PATH: Final = "/agent/v1/connect"
FAREWELL_S: Final = 4.0
"""Seconds at shutdown for the pending answers, the goodbye and the close of all sockets together."""


class AgentSockets:
    """Accepts the sockets of agents, and gets every commit from the roster. Each process has one."""

    def __init__(
        self,
        auth: Authenticator,
        permissions: Permissions,
        roster: Roster,
        offers: Offers,
        reports: Reports,
        telemetry: Telemetry,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._auth = auth
        self._permissions = permissions
        registry, context = Registry(), DeliveryContext(roster, offers)
        self._around = Surroundings(roster, registry, context, reports, telemetry, clock)
        self._dispatch = Dispatch(roster, registry, context)
        self._moves = RosterMoves()
        roster.subscribe(self._hear)

    @handles(
        Route(
            method="GET",
            path=PATH,
            id="connectAgent",
            tag="agents",
            summary="The agents' WebSocket: work is pushed, heartbeats and reports come back",
            description="Frames are described in docs/agents.md.",
            permission=BY_HANDLER,
            answers={101: Answer(None, "Switching protocols")},
            errors=(400, 426, 503),
            socket=Socket(frame_bytes_max=FRAME_BYTES_MAX + 1, close_s=FAREWELL_S),  # aiohttp refuses this size itself
        )
    )
    async def accept(self, request: web.Request) -> AgentSocket:
        return AgentSocket(self, request.headers, request.transport)

    def _hear(self, events: Sequence[FleetEvent]) -> None:
        self._moves.commit()
        self._dispatch.hear(events)

    async def greet(self, connection: Connection, headers: Mapping[str, str]) -> Session | None:
        """Start a session. None: the socket was closed with a code that says why.

        A bad key, too, is answered by closing the open socket: many clients do not show why an upgrade was refused.
        """
        try:
            principal = self._auth.authenticate(headers)
            grant = self._permissions.demand(principal, "agent", Verb.CONNECT)
            return await greet(connection, principal, grant, self._around, self._moves)
        except ApiError as error:
            connection.fault(error.code, error.message)
            connection.end(CloseCode.BAD_KEY if error.status == 401 else CloseCode.NOT_ALLOWED)
        except TurnedAway as error:
            connection.fault(error.code, error.message)
            connection.end(error.close)
        return None


class AgentSocket:
    """One socket from its upgrade to its close. Has the methods that `web.sockets` calls."""

    def __init__(self, sockets: AgentSockets, headers: Mapping[str, str], transport: asyncio.Transport | None) -> None:
        self._sockets = sockets
        self._headers = headers
        self._transport = transport
        self._connection: Connection | None = None
        self._session: Session | None = None

    async def run(self, socket: web.WebSocketResponse) -> None:
        self._connection = connection = Connection(socket, self._transport)
        async with connection.running():
            self._session = await self._sockets.greet(connection, self._headers)
            if self._session is not None:
                await self._session.run()

    async def leave(self) -> None:
        """At shutdown: answer reports in flight, then announce the restart."""
        if self._session is not None:
            await self._session.finish()
        if self._connection is not None:
            await self._connection.end(CloseCode.RESTART, bye=Bye("The server restarts"))
