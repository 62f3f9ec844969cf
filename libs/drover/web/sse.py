"""Server-sent events: their format, and one stream from its first byte to its end. Other modules supply the content."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractContextManager, aclosing, contextmanager, nullcontext
from typing import Final, NamedTuple

import msgspec
import structlog
from aiohttp import web
from prometheus_client import Gauge

from drover.service.tasks import end
from drover.web.errors import unavailable
from drover.web.sockets import Sockets

STREAMS_MAX: Final = 500
"""The maximum number of open streams per path and process. Further ones are refused with 503."""
HEARTBEAT_S: Final = 15.0
"""How often a heartbeat is sent on an idle stream, because proxies close silent connections."""
RETRY_MS: Final = 2000
"""How long a client waits before it reconnects."""
LOOK_S: Final = 1.0
"""How often an idle stream checks whether its client is still connected, in seconds. It has to check, because nothing
reports a lost client."""
SEND_S: Final = 30.0
"""How many seconds a client may take to make room for the next events. After that its connection is closed. The client
can resume by the id of its last event and loses nothing."""

HEADERS: Final = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # or nginx would hold events back until a buffer is full
}

RESTARTS: Final = "The server restarts"
EXPIRED: Final = "The key has expired"
CUT_OFF: Final = "The server cannot check keys at the moment"
FAILED: Final = "The stream failed"
ENDED: Final = "There is nothing more to tell"

_open: Final = Gauge("drover_streams_open", "Open streams of server-sent events, by route.", ["route"])

log = structlog.stdlib.get_logger(__name__)


class Chunk(NamedTuple):
    """A piece of a stream, and its position."""

    data: bytes
    """One or more complete events. Empty: no event up to `id` is for this client."""
    id: str
    """The position after this chunk. A client that resumes from this id misses nothing."""


def event(name: str, data: bytes, *, id: str | None = None, retry_ms: int | None = None) -> bytes:
    """Format one event. No part may contain a line break: sources pass JSON on one line."""
    assert b"\n" not in data
    lines = [b"event: " + name.encode(), b"data: " + data]
    if id is not None:
        lines.insert(0, b"id: " + id.encode())
    if retry_ms is not None:
        lines.insert(0, b"retry: %d" % retry_ms)
    return b"\n".join(lines) + b"\n\n"


def heartbeat(id: str | None) -> bytes:
    """Format a heartbeat: a comment, with the id of the stream's position. Browsers store the id but dispatch no event,
    so clients that get few events resume from a recent position, too."""
    return b": heartbeat\n\n" if id is None else b": heartbeat\nid: %b\n\n" % id.encode()


def bye(reason: str, id: str | None) -> bytes:
    return event("bye", msgspec.json.encode({"reason": reason}), id=id)


class StreamSession:
    """The stream of one client. Its memory is bounded: it asks for the next chunk only after the connection has taken
    the last one."""

    def __init__(
        self,
        chunks: AsyncGenerator[Chunk, None],
        transport: asyncio.Transport | None,
        *,
        lasts_s: float = math.inf,
        holds: Callable[[], bool] = lambda: True,
        knows: Callable[[], bool] = lambda: True,
        heartbeat_s: float = HEARTBEAT_S,
        send_s: float = SEND_S,
    ) -> None:
        """`lasts_s`: after how many seconds the stream ends. `holds`: returns whether the caller may still listen.
        `knows`: returns False while this process cannot tell that, and then the stream ends, too. Both are called at
        least every `LOOK_S`."""
        self._chunks = chunks
        self._transport = transport
        self._lasts_s = lasts_s
        self._holds = holds
        self._knows = knows
        self._heartbeat_s = heartbeat_s
        self._send_s = send_s
        self._leaving = asyncio.Event()
        self._sent_at = 0.0
        self._id: str | None = None

    async def run(self, socket: web.StreamResponse) -> None:
        """Send the stream from the headers to the last event, which says why the stream ends."""
        try:
            async with aclosing(self._chunks):
                reason = await self._tell(socket)
            await self._send(socket, bye(reason, self._id))
        except ConnectionError:  # the client has disconnected
            pass
        except TimeoutError:
            log.info("stream_cut", why="its client does not read", send_s=self._send_s)
            self._cut()
        except BaseException:
            self._cut()  # otherwise unsent data would keep open a connection that nobody reads
            raise

    async def leave(self) -> None:
        """End the stream, because the server stops."""
        self._leaving.set()

    async def _tell(self, socket: web.StreamResponse) -> str:
        """Send chunks until there is a reason to stop; return the reason."""
        clock = asyncio.get_running_loop().time
        self._sent_at = clock()
        ends_at = clock() + self._lasts_s
        leaving = asyncio.ensure_future(self._leaving.wait())
        upcoming = asyncio.ensure_future(self._next())
        try:
            while True:
                due_s = self._sent_at + self._heartbeat_s - clock()
                patience_s = max(0.0, min(LOOK_S, due_s, ends_at - clock()))
                await asyncio.wait((upcoming, leaving), timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
                if self._transport is None or self._transport.is_closing():
                    raise ConnectionResetError
                if self._leaving.is_set():
                    return RESTARTS
                if clock() >= ends_at or not self._holds():
                    return EXPIRED
                if not self._knows():
                    return CUT_OFF
                if upcoming.done():
                    chunk = upcoming.result()
                    if isinstance(chunk, str):
                        return chunk
                    await self._send(socket, chunk.data)
                    self._id = chunk.id  # only after sending: a client that reconnects gets unsent events again
                    upcoming = asyncio.ensure_future(self._next())
                elif clock() >= self._sent_at + self._heartbeat_s:
                    await self._send(socket, heartbeat(self._id))
        finally:
            await end(upcoming, leaving)

    async def _next(self) -> Chunk | str:
        """Return the next chunk, or the reason why there is none."""
        try:
            return await anext(self._chunks)
        except StopAsyncIteration:
            return ENDED
        except Exception:
            log.exception("stream_failed")
            return FAILED

    async def _send(self, socket: web.StreamResponse, data: bytes) -> None:
        if not data:
            return
        async with asyncio.timeout(self._send_s):
            await socket.write(data)
        self._sent_at = asyncio.get_running_loop().time()

    def _cut(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class Streams:
    """The open streams at one path: bounded, and closed together with the application's sockets."""

    def __init__(self, sockets: Sockets, route: str, streams_max: int = STREAMS_MAX) -> None:
        self._sockets = sockets
        self._route = route
        self._streams_max = streams_max
        self._open = 0

    def __len__(self) -> int:
        return self._open

    def check_room(self) -> None:
        """Raise 503 if no more streams can be opened here."""
        self._sockets.check_room()
        if self._open >= self._streams_max:
            raise unavailable("Too many streams are open")

    @contextmanager
    def opened(self, session: StreamSession) -> Iterator[None]:
        """Count a session as open for the length of the `with` block. Enter the block in the task that runs the
        session."""
        self._open += 1
        _open.labels(self._route).inc()
        try:
            with self._sockets.opened(session, self._route):
                yield
        finally:
            _open.labels(self._route).dec()
            self._open -= 1


class EventStream(web.StreamResponse):
    """A response that is sent after its handler has returned, so that the request metrics measure only the time until
    the stream starts."""

    def __init__(
        self, streams: Streams, session: StreamSession, held: AbstractContextManager[None] | None = None
    ) -> None:
        """`held`: a context manager that is entered while the stream is open."""
        super().__init__(headers=HEADERS)
        self.force_close()  # its connection cannot be reused
        self._streams = streams
        self._session = session
        self._held = held or nullcontext()
        self.on_end: Callable[[], None] = lambda: None
        """Called when the stream has ended."""

    async def write_eof(self, data: bytes = b"") -> None:
        try:
            with self._held, self._streams.opened(self._session):
                await self._session.run(self)
            await super().write_eof(data)
        finally:
            self.on_end()
