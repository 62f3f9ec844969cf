"""The stream's way in: who may have one, from where on, and what all streams of a process share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from aiohttp import web

from drover.api.live.follower import LOG_READERS_MAX, Follower
from drover.api.live.place import START, Place
from drover.api.live.query import Wish, no_such_event, read_wish
from drover.api.live.stream import chunks
from drover.api.live.tail import Bell, Tail
from drover.api.live.window import Window
from drover.eventlog.log import EventLog, LogUnreachable
from drover.web.application import SOCKETS, add_route
from drover.web.auth import Authenticator
from drover.web.errors import unavailable
from drover.web.permissions import Verb, demand
from drover.web.sse import HEADERS, HEARTBEAT_S, SEND_S, STREAMS_MAX, EventStream, Streams, StreamSession

PATH: Final = "/api/stream"


class Live:
    """One for each process, with the log of every context that people may watch."""

    def __init__(
        self,
        auth: Authenticator,
        logs: Sequence[EventLog],
        *,
        streams_max: int = STREAMS_MAX,
        heartbeat_s: float = HEARTBEAT_S,
        send_s: float = SEND_S,
        window: Callable[[int], Window] = Window,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._auth = auth
        self._bell = Bell()
        self._tails = {log.partition.context: Tail(log, self._bell, window) for log in logs}
        self._readers = asyncio.Semaphore(LOG_READERS_MAX)
        self._streams_max = streams_max
        self._heartbeat_s = heartbeat_s
        self._send_s = send_s
        self._clock = clock

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

    def add_routes(self, app: web.Application) -> None:
        streams = Streams(app[SOCKETS], PATH, self._streams_max)

        async def stream(request: web.Request) -> web.StreamResponse:
            principal = self._auth.authenticate(request.headers)
            demand(principal, "stream", Verb.READ)
            wish = read_wish(request.headers, request.query, [*self._tails])
            streams.check_room()
            followers = [await self._follower(wish, context) for context in wish.contexts]
            if request.method == "HEAD":
                return web.Response(headers=HEADERS)
            streams.check_room()  # finding the place took its time
            session = StreamSession(
                chunks(followers, wish.selection, self._bell),
                request.transport,
                lasts_s=principal.expires_at - self._clock(),
                holds=lambda: self._auth.holds(principal),
                heartbeat_s=self._heartbeat_s,
                send_s=self._send_s,
            )
            return EventStream(streams, session)

        add_route(app, "GET", PATH, stream)

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
    """How many events the commit of this place has; 0: there is no such commit."""
    if place.seq == START.seq:
        return 1  # nothing was there before the first one, and it can be named
    commit = tail.window.get(place.seq)
    if commit is None:
        # Not the tail's end but the log's: an id may come from another process that has read further.
        try:
            found = await tail.log.get(place.seq)
        except LogUnreachable as error:
            raise unavailable("The log does not answer") from error
        commit = None if found is None else tail.recorded(found)
    return 0 if commit is None else len(commit.records)
