"""The WebSocket of one agent: receives and sends frames in bounded memory, and closes in order. It does not interpret
frames."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Final

from aiohttp import WSMsgType, web
from msgspec import UNSET, UnsetType

from drover.gateway.agent_metrics import CLOSED, FRAMES_IN, FRAMES_OUT
from drover.gateway.agent_protocol import (
    BAD_FRAMES_MAX,
    AgentFrame,
    BadFrame,
    Bye,
    CloseCode,
    Fault,
    ServerFrame,
    decode,
    encode,
)
from drover.service.tasks import end
from drover.web.ratelimit import Limited

SILENT_AFTER_S: Final = 45.0
"""After this many seconds without a frame (four missed heartbeats), the connection counts as broken."""
UNSENT_FRAMES_MAX: Final = 256
"""Maximum of frames that wait to be sent. An agent that does not read is disconnected at this number."""
CLOSE_WITHIN_S: Final = 1.5
"""Seconds for sending the last frames and for the closing handshake together; then the connection is aborted."""

BAD_FRAME: Final = "BAD_FRAME"

_numbers: Final = count(1)


class Connection:
    """A WebSocket with one reader and any number of writers. The first call of `end` closes it."""

    def __init__(self, socket: web.WebSocketResponse, transport: asyncio.Transport | None) -> None:
        self.number = next(_numbers)
        """The number of the connection: the newer of two connections has the higher one."""
        self._socket = socket
        self._transport = transport
        self._unsent: asyncio.Queue[ServerFrame] = asyncio.Queue(UNSENT_FRAMES_MAX)
        self._reading: asyncio.Timeout | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._bad_frames = 0
        self._ending: asyncio.Task[None] | None = None
        self.on_end: Callable[[], None] = _nothing
        """Called when the server ends the connection, before the last frames are sent."""

    @property
    def is_ending(self) -> bool:
        return self._ending is not None or self._socket.closed

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Send queued frames while the block runs. If `end` was called, wait until the connection is closed."""
        sender = asyncio.create_task(self._send(), name="agent-sender")
        try:
            yield
        finally:
            try:
                if self._ending is not None:
                    await asyncio.wait([self._ending])
            finally:
                await end(sender)

    async def receive(self) -> AgentFrame | BadFrame | None:
        """Receive the next frame. None: the connection has ended."""
        if self.is_ending:
            return None
        self._idle.clear()
        try:
            async with asyncio.timeout(SILENT_AFTER_S) as self._reading:
                message = await self._socket.receive()
        except TimeoutError:  # also forced by `_stop_reading`
            self.end(CloseCode.SILENT, bye=Bye(f"Nothing was heard for {SILENT_AFTER_S:.0f} s"))
            return None
        finally:
            self._reading = None
            self._idle.set()
        if message.type is WSMsgType.TEXT:
            frame = decode(message.data)
        elif message.type is WSMsgType.BINARY:
            frame = BadFrame("A frame must be text")
        else:
            if message.type is WSMsgType.ERROR and self._socket.close_code == CloseCode.TOO_BIG:
                CLOSED.labels(CloseCode.TOO_BIG.value).inc()
            return None
        FRAMES_IN[type(frame)].inc()
        return frame

    def put(self, frame: ServerFrame) -> None:
        """Queue a frame for sending. Never waits: an agent that does not read must not block others."""
        if self.is_ending:
            return
        try:
            self._unsent.put_nowait(frame)
        except asyncio.QueueFull:
            self.end(CloseCode.TOO_SLOW)

    def fault(self, code: str, message: str, retry_after_s: int | UnsetType = UNSET) -> None:
        self.put(Fault(code, message, retry_after_s))

    def turn_away(self, limited: Limited) -> None:
        """Disconnect an agent that has exceeded a limit, and tell it when to come back."""
        self.end(CloseCode.TOO_MANY, bye=Bye(limited.message, limited.retry_after_s))

    def not_understood(self, bad: BadFrame) -> None:
        """Answer a frame that could not be decoded with an error. Disconnect after too many of them."""
        self.fault(BAD_FRAME, bad.message)
        self._bad_frames += 1
        if self._bad_frames >= BAD_FRAMES_MAX:
            self.end(CloseCode.BAD_FRAMES)

    def end(self, code: CloseCode, *, bye: Bye | None = None) -> asyncio.Task[None]:
        """Send the queued frames and close the connection with this code. Takes bounded time, whatever the agent
        does."""
        if self._ending is None:
            CLOSED.labels(code.value).inc()
            self._ending = asyncio.create_task(self._end(code, bye), name="agent-end")
            self.on_end()
        return self._ending

    async def _send(self) -> None:
        while True:
            frame = await self._unsent.get()
            try:
                await self._socket.send_frame(encode(frame), WSMsgType.TEXT)
            except ConnectionError:  # the reader notices it too
                return
            FRAMES_OUT[type(frame)].inc()
            self._unsent.task_done()

    async def _end(self, code: CloseCode, bye: Bye | None) -> None:
        if self._socket.closed:
            return
        try:
            async with asyncio.timeout(CLOSE_WITHIN_S):
                if code is not CloseCode.TOO_SLOW:
                    await self._unsent.join()
                    if bye is not None:
                        await self._socket.send_frame(encode(bye), WSMsgType.TEXT)
                        FRAMES_OUT[Bye].inc()
                await self._stop_reading()
                await self._socket.close(code=code)
        except (TimeoutError, ConnectionError):
            # A peer that reads nothing would keep the connection and its write buffer for a long time.
            if self._transport is not None:
                self._transport.abort()

    async def _stop_reading(self) -> None:
        """Stop `receive`, so that `close` can read the agent's close frame. With two readers, the connection would be
        cut and the code lost."""
        if self._reading is not None:
            self._reading.reschedule(asyncio.get_running_loop().time())
        await self._idle.wait()


def _nothing() -> None:
    pass
