"""The endpoint of the event stream: checks the permission, finds the start position, and holds what all streams
share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from aiohttp import web

from drover.api.caller_sessions import CallerSessions
from drover.api.live.follower import LOG_READERS_MAX, Follower
from drover.api.live.place import START, Place
from drover.api.live.query import Wish, no_such_event, read_wish
from drover.api.live.stream import Hello, chunks
from drover.api.live.tail import Bell, Tail
from drover.api.live.window import Window
from drover.eventlog.log import BelowBottom, EventLog, LogUnreachable
from drover.web.application import SOCKETS
from drover.web.auth import Authenticator, Principal
from drover.web.errors import unavailable
from drover.web.limits import Limits
from drover.web.permissions import Verb
from drover.web.route import Answer, Parameter, Permission, Route, handles
from drover.web.sse import HEADERS, HEARTBEAT_S, SEND_S, STREAMS_MAX, Streams

PATH: Final = "/api/events/stream"


class Live:
    """The endpoint of the event stream, one per process, with the logs of all contexts that people may watch."""

    def __init__(
        self,
        auth: Authenticator,
        logs: Sequence[EventLog],
        *,
        limits: Limits | None = None,
        streams_max: int = STREAMS_MAX,
        heartbeat_s: float = HEARTBEAT_S,
        send_s: float = SEND_S,
        window: Callable[[int], Window] = Window,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._bell = Bell()
        self._tails = {log.partition.context: Tail(log, self._bell, window) for log in logs}
        self._readers = asyncio.Semaphore(LOG_READERS_MAX)
        self._streams_max = streams_max
        self._streams: Streams | None = None
        self._sessions = CallerSessions(
            auth=auth, heartbeat_s=heartbeat_s, send_s=send_s, clock=clock, limits=limits or Limits()
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for tail in self._tails.values():
                await stack.enter_async_context(tail.running())
            yield

    async def wait_failed(self) -> None:
        await asyncio.gather(*(tail.wait_failed() for tail in self._tails.values()))

    def why_not_ready(self) -> str | None:
        return None if all(tail.end for tail in self._tails.values()) else "The log has not answered yet."

    @handles(
        Route(
            method="GET",
            path=PATH,
            id="streamEvents",
            tag="operations",
            summary="Every event as it is recorded, as server-sent events",
            description=(
                "The first one is `hello`. All others are events of the log: `event` is the type, `data` the event as"
                " JSON, `id` its position. A client that reconnects with `Last-Event-ID` misses nothing."
            ),
            permission=Permission("stream", Verb.READ),
            parameters=(
                Parameter("context", str, "Only these contexts.", many=True),
                Parameter("type", str, "Only these types; `*` stands for any letters, as in Attempt*.", many=True),
                Parameter("entity", str, "Only events that name this id."),
                Parameter("last_event_id", str, "Continue after this id."),
                Parameter("Last-Event-ID", str, "The same; browsers send it by themselves.", place="header"),
            ),
            answers={
                200: Answer(Hello, "An endless stream; this is the data of its `hello`", media="text/event-stream")
            },
            errors=(400, 503),
        )
    )
    async def stream(self, request: web.Request, principal: Principal) -> web.StreamResponse:
        wish = read_wish(request.headers, request.query, [*self._tails])
        streams = self._streams_of(request.app)
        self._sessions.check_room(streams, principal)
        followers = [await self._follower(wish, context) for context in wish.contexts]
        if request.method == "HEAD":
            return web.Response(headers=HEADERS)
        self._sessions.check_room(streams, principal)  # again: finding the position may have taken long
        return self._sessions.open(streams, chunks(followers, wish.selection, self._bell), request, principal)

    def _streams_of(self, app: web.Application) -> Streams:
        """Return the event streams that are open in this process."""
        if self._streams is None:
            self._streams = Streams(app[SOCKETS], PATH, self._streams_max)
        return self._streams

    async def _follower(self, wish: Wish, context: str) -> Follower:
        tail = self._tails[context]
        if tail.end is None:
            raise unavailable("The log has not answered yet")
        place = wish.after.get(context)
        if place is None:
            return Follower(tail, tail.end, tail.end.line + 1, self._readers)
        lines = await _lines_of(tail, place)
        if place.line >= lines:
            raise no_such_event(wish.after_field, context, place)
        return Follower(tail, place, lines, self._readers)


async def _lines_of(tail: Tail, place: Place) -> int:
    """Count the events of the commit at this position. 0: there is no such commit."""
    if place.seq == START.seq:
        return 1  # the start is before the first event, and a valid position
    commit = tail.window.get(place.seq)
    if commit is None:
        # Read the log, not the tail's end: the id may come from another process that has read further.
        try:
            found = await tail.log.get(place.seq)
        except LogUnreachable as error:
            raise unavailable("The log does not answer") from error
        except BelowBottom as error:
            raise unavailable("The event is in the archive, which this process cannot read") from error
        commit = None if found is None else tail.recorded(found)
    return 0 if commit is None else len(commit.records)
