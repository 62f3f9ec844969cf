"""`/realtime/v1`: the WebSocket, and broadcasts over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any, Final

import msgspec
from aiohttp import web

from drover.api.realtime import limits
from drover.api.realtime.capacity import Allowances, TooManyMessages
from drover.api.realtime.connection import BAD_FRAME, RESTART, TOO_MANY, Connection, Waiting
from drover.api.realtime.frames import BadFrame, Vsn
from drover.api.realtime.presence import Topic
from drover.api.realtime.rooms import PREFIX, said
from drover.api.realtime.session import AGENTS, Office, Session
from drover.api.realtime.watcher import RowsWatcher
from drover.service.tasks import in_background
from drover.web.auth import Principal
from drover.web.bodies import Body, read_body, read_bytes
from drover.web.errors import NotYet, invalid, too_large, unavailable
from drover.web.limits import LIMITED
from drover.web.ratelimit import Limited, Limiter, Refused
from drover.web.route import BY_HANDLER, Answer, Parameter, Route, Socket, handles, in_path

PATH: Final = "/realtime/v1/websocket"
BROADCAST_PATH: Final = "/realtime/v1/api/broadcast"
EVENT_PATH: Final = BROADCAST_PATH + "/{topic}/events/{event}"
FAREWELL_S: Final = 3.0
"""Seconds for closing all sockets at shutdown."""
_BYTES: Final = "application/octet-stream"


class BroadcastMessage(msgspec.Struct, frozen=True):
    topic: Annotated[str, msgspec.Meta(min_length=1, max_length=limits.TOPIC_CHARS_MAX - len(PREFIX))]
    event: Annotated[str, msgspec.Meta(min_length=1, max_length=limits.EVENT_CHARS_MAX)]
    payload: Any = None
    private: bool | None = False


class BroadcastBody(msgspec.Struct, frozen=True):
    messages: Annotated[list[BroadcastMessage], msgspec.Meta(max_length=limits.HTTP_MESSAGES_MAX)]


_body: Final = Body(BroadcastBody)
_encode: Final = msgspec.json.Encoder().encode
_decode_any: Final = msgspec.json.Decoder().decode


class Realtime:
    def __init__(
        self,
        office: Office,
        watcher: RowsWatcher,
        *,
        sockets_max: int = limits.SOCKETS_MAX,
        agent_sockets_max: int = limits.AGENT_SOCKETS_MAX,
        outbound_bytes_max: int = limits.OUTBOUND_BYTES_MAX,
        outbound_total_bytes_max: int = limits.OUTBOUND_TOTAL_BYTES_MAX,
    ) -> None:
        self.office: Final = office
        self._watcher = watcher
        self.sessions: Final[dict[RealtimeSocket, None]] = {}
        self._sockets_max = sockets_max
        self._agent_sockets_max = agent_sockets_max
        self._outbound_bytes_max = outbound_bytes_max
        self._waiting = Waiting(outbound_total_bytes_max)
        self._allowances = Allowances()
        self._limiter = Limiter(limits.MESSAGES_PER_S, limits.MESSAGES_BURST, stop_after=None)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Close expired channels, send rejoin requests, and send heartbeats to the other processes."""
        async with in_background(self._look(), name="realtime-look"):
            yield

    @handles(
        Route(
            method="GET",
            path=PATH,
            id="connectRealtime",
            tag="operations",
            summary="Supabase Realtime: changed rows, broadcasts and presence over a WebSocket",
            description="Frames are those of Phoenix channels; docs/realtime.md says what is supported.",
            permission=BY_HANDLER,
            limit=BY_HANDLER,
            identifies=True,
            parameters=(
                Parameter("apikey", str, "The caller's key. It can also be a header."),
                Parameter("vsn", str, "1.0.0 (objects, the default) or 2.0.0 (arrays)."),
            ),
            answers={101: Answer(None, "Switching protocols")},
            errors=(400, 426, 429, 503),
            socket=Socket(frame_bytes_max=limits.FRAME_BYTES_MAX, close_s=FAREWELL_S),
        )
    )
    async def accept(self, request: web.Request) -> RealtimeSocket:
        try:
            vsn = Vsn(request.query.get("vsn", Vsn.ONE))
        except ValueError:
            raise invalid("vsn: Use 1.0.0 or 2.0.0", field="vsn", value=request.query["vsn"][:16]) from None
        headers = _headers(request)
        access = self.office.access
        principal = access.identify(request, headers)
        access.limits.count(principal, request)
        access.limits.check_room(principal)
        is_agent = principal.role in AGENTS
        agents = sum(one.is_agent for one in self.sessions) if is_agent else 0
        if len(self.sessions) >= self._sockets_max or agents >= self._agent_sockets_max:
            raise unavailable("Too many sockets are open")
        connection = Connection(request.transport, self._waiting, self._outbound_bytes_max)
        session = Session(self.office, vsn, headers, connection.put, allowance=self._allowances.of(principal))
        return RealtimeSocket(self, connection, session, principal)

    @handles(
        Route(
            method="POST",
            path=BROADCAST_PATH,
            id="broadcast",
            tag="operations",
            summary="Broadcast to those who have joined topics of Realtime",
            permission=BY_HANDLER,
            body=BroadcastBody,
            answers={202: Answer(None, "On its way")},
            errors=(400, 413, 415, 429),
        )
    )
    async def broadcast(self, request: web.Request, principal: Principal) -> web.Response:
        messages = _body.decode(await read_body(request)).messages
        payloads = [_encode(message.payload) for message in messages]
        for message, payload in zip(messages, payloads, strict=True):  # check all before any is sent
            self._check(principal, message, payload)
        for message, payload in zip(messages, payloads, strict=True):
            self._send(message, payload)
        return web.Response(status=202)

    @handles(
        Route(
            method="POST",
            path=EVENT_PATH,
            id="broadcastEvent",
            tag="operations",
            summary="Broadcast one event to those who have joined a topic of Realtime",
            description="The body is the payload: JSON, or plain bytes as application/octet-stream.",
            permission=BY_HANDLER,
            parameters=(
                in_path("topic", str, "The name of the topic, without the prefix `realtime:`."),
                in_path("event", str, "The name of the event."),
                Parameter("private", bool, "`true`: to the private channel of this name."),
            ),
            answers={202: Answer(None, "On its way")},
            errors=(400, 413, 415, 429),
        )
    )
    async def broadcast_event(self, request: web.Request, principal: Principal) -> web.Response:
        match = request.match_info
        private = request.query.get("private", "").lower() == "true"
        try:
            message = msgspec.convert(
                {"topic": match["topic"], "event": match["event"], "private": private}, BroadcastMessage
            )
        except msgspec.ValidationError as error:
            raise invalid(str(error)) from error
        if request.headers.get("Content-Type", "").partition(";")[0].strip().lower() == _BYTES:
            data = await read_bytes(request)
            self._check(principal, message, data)
            self._send(message, b"{}", data)
        else:
            raw = await read_body(request)
            try:
                _decode_any(raw)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise invalid("The body is not JSON") from error
            self._check(principal, message, raw)
            self._send(message, raw)
        return web.Response(status=202)

    def _check(self, principal: Principal, message: BroadcastMessage, payload: bytes) -> None:
        self.office.demand_channel(principal, is_private=bool(message.private))
        if len((PREFIX + message.topic).encode()) > limits.TOPIC_CHARS_MAX:
            raise invalid(f"{PREFIX}<topic> has at most {limits.TOPIC_CHARS_MAX} bytes", field="topic")
        if len(message.event.encode()) > limits.EVENT_CHARS_MAX:
            raise invalid(f"An event has at most {limits.EVENT_CHARS_MAX} bytes", field="event")
        if len(payload) > limits.FRAME_BYTES_MAX:
            raise too_large(limits.FRAME_BYTES_MAX)
        receivers = self.office.rooms.size(Topic(message.topic, bool(message.private)))
        uses = 1 + receivers / limits.FRAMES_PER_MESSAGE
        if isinstance(refused := self._limiter.check(principal.name, uses), Refused):
            raise Limited(refused.retry_after_s, principal.role)

    def _send(self, message: BroadcastMessage, payload: bytes, data: bytes | None = None) -> None:
        topic = Topic(message.topic, bool(message.private))
        self.office.rooms.broadcast(topic, message.event, said(message.event, msgspec.Raw(payload)), data)

    async def _look(self) -> None:
        loop, beat_at = asyncio.get_running_loop(), float("-inf")
        while True:
            for one in [*self.sessions]:
                one.session.look()
            self._watcher.look()
            if loop.time() >= beat_at:
                self.office.rooms.beat()
                beat_at = loop.time() + limits.BEAT_S
            await asyncio.sleep(limits.LOOK_S)


class RealtimeSocket:
    """One socket from its upgrade to its close. Has the methods that `web.sockets` calls."""

    def __init__(self, realtime: Realtime, connection: Connection, session: Session, principal: Principal) -> None:
        self.session: Final = session
        self.is_agent: Final = principal.role in AGENTS
        self._principal = principal
        self._realtime = realtime
        self._connection = connection

    async def run(self, socket: web.WebSocketResponse) -> None:
        connection = self._connection
        sender = asyncio.create_task(connection.send(socket), name="realtime-sender")
        self._realtime.sessions[self] = None
        try:
            with self._realtime.office.access.limits.holding(self._principal):
                while (data := await connection.receive(socket)) is not None:
                    await self._receive(data)
        finally:
            del self._realtime.sessions[self]
            self.session.close()
            await connection.close(socket, sender)

    async def leave(self) -> None:
        self._connection.end(RESTART)

    async def _receive(self, data: str | bytes) -> None:
        try:
            try:
                self.session.receive(data)
            except NotYet as not_yet:  # the keys of a token's issuer are being fetched
                await not_yet.ready()
                self.session.receive(data)
        except TooManyMessages:
            LIMITED.labels(self._principal.role, PATH).inc()
            self._connection.end(TOO_MANY)
        except BadFrame:
            self._connection.end(BAD_FRAME)


def _headers(request: web.Request) -> Mapping[str, str]:
    """Return the key as headers. Clients put it into the query, because browsers cannot add headers to a WebSocket."""
    found = {name: request.headers[name] for name in ("apikey", "Authorization") if name in request.headers}
    if key := request.query.get("apikey"):
        found["apikey"] = key
    return found
