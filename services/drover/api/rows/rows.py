"""The endpoint of row streams: checks the permission, and reads the wanted relations and the start position."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from aiohttp import web
from multidict import MultiMapping

from drover.api.caller_sessions import CallerSessions
from drover.api.live.query import LAST_ID, LAST_ID_HEADER
from drover.api.rows.hub import Hub
from drover.api.rows.line import RowsTold
from drover.api.rows.sight import row_filters
from drover.api.rows.stream import RowsHello, RowsLag, RowsReset, RowsSession
from drover.api.rows.token import parse_token
from drover.service.api_keys import Role
from drover.web.access import Access
from drover.web.application import SOCKETS
from drover.web.auth import Principal
from drover.web.errors import invalid
from drover.web.route import BY_HANDLER, Answer, AnyOf, Parameter, Route, handles
from drover.web.sse import HEADERS, HEARTBEAT_S, SEND_S, STREAMS_MAX, Streams

PATH: Final = "/api/stream"
AGENT_STREAMS_MAX: Final = 100
"""Maximum of streams that the API keys of phones may open; more are refused. So phones cannot use up the streams of
people."""
SHOWN_CHARS_MAX: Final = 200


class RowStreams:
    def __init__(
        self,
        access: Access,
        hub: Hub,
        *,
        streams_max: int = STREAMS_MAX,
        agent_streams_max: int = AGENT_STREAMS_MAX,
        heartbeat_s: float = HEARTBEAT_S,
        send_s: float = SEND_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._hub = hub
        self._permissions = access.permissions
        self._streams: dict[bool, Streams] = {}
        self._streams_max = streams_max
        self._agent_streams_max = agent_streams_max
        self._sessions = CallerSessions(
            auth=access.auth, heartbeat_s=heartbeat_s, send_s=send_s, clock=clock, limits=access.limits
        )

    @handles(
        Route(
            method="GET",
            path=PATH,
            id="streamRows",
            tag="operations",
            summary="Rows as they change, as server-sent events",
            description=(
                "`hello` comes first, then `rows` whenever some have changed: each row as `/rest/v1` shows it, without"
                " what `hello` names as withheld, and the keys of rows that are gone. `reset` names relations that must"
                " be read again, with `Drover-Min-Position: <min_position>`; apply rows that arrive meanwhile after"
                " that read. `lag` says that a read model has stalled, or moves again. `bye` is the last. A client that"
                " reconnects with `Last-Event-ID` gets what it missed, or a `reset`."
            ),
            permission=BY_HANDLER,
            parameters=(
                Parameter(
                    "relations", str, "What to follow; the caller must be allowed to read it.", required=True, many=True
                ),
                Parameter("last_event_id", str, "Continue after this id."),
                Parameter("Last-Event-ID", str, "The same; browsers send it by themselves.", place="header"),
            ),
            answers={
                200: Answer(
                    AnyOf((RowsHello, RowsTold, RowsReset, RowsLag)),
                    "An endless stream; these are the data of its events",
                    media="text/event-stream",
                )
            },
            errors=(400, 503),
        )
    )
    async def stream(self, request: web.Request, principal: Principal) -> web.StreamResponse:
        relations = read_relations(request.query, self._hub.live)
        filters = row_filters(principal, relations, self._hub.live, self._permissions)
        streams = self._streams_for(principal, request.app)
        self._sessions.check_room(streams, principal)
        if request.method == "HEAD":
            return web.Response(headers=HEADERS)
        # A browser that reconnects sends the header and the original URL: the header is newer.
        last_id = request.headers.get(LAST_ID_HEADER) or request.query.get(LAST_ID)
        rows = RowsSession(self._hub, relations, filters, parse_token(last_id) if last_id else None)
        return self._sessions.open(streams, rows.chunks(), request, principal)

    def _streams_for(self, principal: Principal, app: web.Application) -> Streams:
        """Return the open streams of this process: those of phones, or those of all other callers."""
        is_agent = principal.role in (Role.ANON, Role.DEVICE)
        if is_agent not in self._streams:
            limit = self._agent_streams_max if is_agent else self._streams_max
            self._streams[is_agent] = Streams(app[SOCKETS], PATH, limit)
        return self._streams[is_agent]


def read_relations(query: MultiMapping[str], live: Mapping[str, object]) -> list[str]:
    """Read the requested relations. Raises 400 that names the invalid field."""
    for name in query:
        if name not in ("relations", LAST_ID):
            shown = query[name][:SHOWN_CHARS_MAX]
            raise invalid(f"{name}: Unknown parameter; use relations", field=name, value=shown)
    names = [name.strip() for value in query.getall("relations", []) for name in value.split(",")]
    if not any(names):
        raise invalid("relations: Name the relations to follow, such as devices,jobs", field="relations", value="")
    for name in names:
        if name not in live:
            message = f"relations: It has no live rows; use {', '.join(sorted(live))}"
            raise invalid(message, field="relations", value=name[:SHOWN_CHARS_MAX])
    return list(dict.fromkeys(names))
