"""One client's WebSocket: receives frames, queues frames to send in bounded memory, and closes in order."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, NamedTuple

from aiohttp import WSMsgType, web

from drover.api.realtime.frames import Binary
from drover.api.realtime.limits import CLOSE_WITHIN_S, OUTBOUND_BYTES_MAX, OUTBOUND_FAIR_BYTES, SILENT_AFTER_S
from drover.api.realtime.metrics import CLOSED
from drover.service.tasks import end


class Ending(NamedTuple):
    """Why the server ends a connection."""

    why: str
    """The label in metrics."""
    code: int
    reason: str
    """The text in the close frame; at most 123 bytes."""


SILENT: Final = Ending("silent", 1001, f"Nothing was heard for {SILENT_AFTER_S:.0f} s")
RESTART: Final = Ending("restart", 1012, "The server restarts")
TOO_SLOW: Final = Ending("slow", 1013, "The client reads too slowly; join again, then read again")
TOO_MANY: Final = Ending("rate", 1008, "Too many messages per second")
BAD_FRAME: Final = Ending("frame", 1007, "A frame could not be read")


class Waiting:
    """Counts the bytes that are queued for all clients of a process."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes = 0
        self._bytes_max = bytes_max

    @property
    def is_too_much(self) -> bool:
        return self.bytes > self._bytes_max


class Connection:
    """One reader, and any number of writers, which never wait. The first call of `end` sets the reason."""

    def __init__(
        self, transport: asyncio.Transport | None, waiting: Waiting, bytes_max: int = OUTBOUND_BYTES_MAX
    ) -> None:
        self._transport = transport
        self._waiting = waiting
        self._bytes_max = bytes_max
        self._unsent: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._has_unsent = asyncio.Event()
        self._reading: asyncio.Timeout | None = None
        self._ending: Ending | None = None

    def put(self, frame: bytes) -> None:
        if self._ending is not None:
            return
        unsent_bytes = self._unsent_bytes + len(frame)
        if unsent_bytes > (OUTBOUND_FAIR_BYTES if self._waiting.is_too_much else self._bytes_max):
            self.end(TOO_SLOW)
            return
        self._unsent.append(frame)
        self._unsent_bytes = unsent_bytes
        self._waiting.bytes += len(frame)
        self._has_unsent.set()

    def end(self, ending: Ending) -> None:
        if self._ending is None:
            self._ending = ending
            if self._reading is not None:
                self._reading.reschedule(asyncio.get_running_loop().time())

    async def receive(self, socket: web.WebSocketResponse) -> str | bytes | None:
        """Return the next frame. None: the connection has ended, or must end."""
        if self._ending is not None:
            return None
        try:
            async with asyncio.timeout(SILENT_AFTER_S) as self._reading:
                message = await socket.receive()
        except TimeoutError:  # `end` also causes a TimeoutError
            self.end(SILENT)
            return None
        finally:
            self._reading = None
        if message.type is WSMsgType.TEXT or message.type is WSMsgType.BINARY:
            return message.data  # type: ignore[no-any-return]
        return None

    async def send(self, socket: web.WebSocketResponse) -> None:
        """Send queued frames until this is cancelled or the client has disconnected."""
        while True:
            if not self._unsent:
                self._has_unsent.clear()
                await self._has_unsent.wait()
            await self._send_next(socket)

    async def close(self, socket: web.WebSocketResponse, sender: asyncio.Task[None]) -> None:
        """Send the queued frames, then the reason. Takes at most `CLOSE_WITHIN_S`, even if the client reads nothing."""
        try:
            await end(sender)
            if self._ending is not None and not socket.closed:
                await self._say_why(socket, self._ending)
        finally:
            self._waiting.bytes -= self._unsent_bytes
            self._unsent.clear()
            self._unsent_bytes = 0

    async def _say_why(self, socket: web.WebSocketResponse, ending: Ending) -> None:
        CLOSED.labels(ending.why).inc()
        try:
            async with asyncio.timeout(CLOSE_WITHIN_S):
                while self._unsent and ending is not TOO_SLOW:
                    await self._send_next(socket)
                await socket.close(code=ending.code, message=ending.reason.encode())
        except (TimeoutError, ConnectionError):
            # A client that reads nothing would keep the connection and its write buffer for a long time.
            if self._transport is not None:
                self._transport.abort()

    async def _send_next(self, socket: web.WebSocketResponse) -> None:
        frame = self._unsent.popleft()
        self._unsent_bytes -= len(frame)
        self._waiting.bytes -= len(frame)
        await socket.send_frame(frame, WSMsgType.BINARY if isinstance(frame, Binary) else WSMsgType.TEXT)
