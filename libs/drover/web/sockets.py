"""The open WebSockets of a process: counts them, answers their pings, and closes them on shutdown."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

import structlog
from aiohttp import WSCloseCode, WSMessage, WSMsgType, web
from prometheus_client import Gauge

from drover.web.errors import unavailable
from drover.web.ratelimit import Limiter, Refused

SOCKETS_MAX: Final = 50_000
"""The maximum number of open sockets in one process. Further ones are refused, and agents connect to another
process."""
CLOSE_S: Final = 1.0
"""How long all sockets together may take to close, by default, in seconds. A route may declare more."""
CANCEL_SHARE: Final = 0.1
"""The share of the time for closing that is kept for cancelling the sessions that did not close by themselves."""
CLOSE_HANDSHAKE_S: Final = 1.0
"""How long a closing socket waits for the other side's close frame."""
PINGS_PER_S: Final = 5.0
"""How many pings and pongs a second a socket may send in the long run. Clients send one every 20 s or so."""
PINGS_BURST: Final = 100

_PINGS: Final = (WSMsgType.PING, WSMsgType.PONG)

_open: Final = Gauge("drover_sockets_open", "Open WebSockets, by route template.", ["route"])

log = structlog.stdlib.get_logger(__name__)


class CountedSocket(web.WebSocketResponse):
    """A WebSocket that answers pings, and closes if a client sends too many. The sessions themselves count all other
    frames.

    aiohttp's own answering of pings has no limit, and lets no other task run while more pings are in its buffer.
    """

    def __init__(self, frame_bytes_max: int) -> None:
        # Without compression, which would take about 300 KiB per socket for frames of a few hundred bytes.
        super().__init__(timeout=CLOSE_HANDSHAKE_S, compress=False, max_msg_size=frame_bytes_max, autoping=False)
        self._pings = Limiter(PINGS_PER_S, PINGS_BURST, stop_after=None, keys_max=1)

    async def receive(self, timeout: float | None = None) -> WSMessage:  # noqa: ASYNC109
        while (message := await super().receive(timeout)).type in _PINGS:
            if isinstance(self._pings.check(""), Refused):
                await self.close(code=WSCloseCode.POLICY_VIOLATION, message=b"Too many pings")
            elif message.type is WSMsgType.PING:
                await self.pong(message.data)
        return message


class Session(Protocol):
    """The server's side of one socket."""

    def run(self, socket: web.WebSocketResponse) -> Awaitable[None]:
        """Run the session from the upgrade to its end. The socket is closed when this returns."""
        ...

    def leave(self) -> Awaitable[None]:
        """Say goodbye and close the socket, because the server stops. It is called at most once, while `run` runs;
        `run` then ends.

        Time is short (`Sockets.close_s`): a session that has not ended by then is cancelled.
        """
        ...


class Sockets:
    """The open sockets of a process. It holds each session from its upgrade to its end."""

    def __init__(self, sockets_max: int = SOCKETS_MAX) -> None:
        self.close_s = CLOSE_S
        self._sockets_max = sockets_max
        self._handlers: dict[asyncio.Task[object], Session] = {}
        self.closing = False

    def __len__(self) -> int:
        return len(self._handlers)

    def check_room(self) -> None:
        """Raise 503 if no more sockets can be opened here. The client can try another process, or this one later."""
        if self.closing:
            raise unavailable("The server is about to stop")
        if len(self._handlers) >= self._sockets_max:
            raise unavailable("Too many sockets are open")

    @contextmanager
    def opened(self, session: Session, route: str) -> Iterator[None]:
        """Count a session as open for the length of the `with` block. Enter the block in the task that runs the
        session."""
        task = asyncio.current_task()
        assert task is not None
        self._handlers[task] = session
        _open.labels(route).inc()
        try:
            yield
        finally:
            _open.labels(route).dec()
            del self._handlers[task]

    async def close_all(self, within_s: float = math.inf) -> None:
        """Let all sessions say goodbye at the same time, and wait for their end. No new ones are opened.

        Sessions that remain after `close_s`, or `within_s` if that is less, are cancelled.
        """
        handlers = set() if self.closing else set(self._handlers)
        self.closing = True
        if not handlers:
            return
        close_s = min(self.close_s, within_s)
        leaving: set[asyncio.Task[object]] = {asyncio.create_task(_leave(self._handlers[task])) for task in handlers}
        _, late = await asyncio.wait(leaving | handlers, timeout=close_s * (1 - CANCEL_SHARE))
        if late:
            log.warning("sockets_cut", sockets=len(late & handlers), of=len(handlers), close_s=close_s)
            for task in late:
                task.cancel()
            await asyncio.wait(late, timeout=close_s * CANCEL_SHARE)


async def _leave(session: Session) -> None:
    try:
        await session.leave()
    except ConnectionError:  # it was closed before
        pass
    except Exception:
        log.exception("socket_farewell_failed")
