"""The open WebSockets of a process: counts them, and closes them on shutdown."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

import structlog
from aiohttp import web
from prometheus_client import Gauge

from drover.web.errors import unavailable

SOCKETS_MAX: Final = 50_000
"""The maximum number of open sockets in one process. Further ones are refused, and agents connect to another
process."""
CLOSE_S: Final = 1.0
"""How long all sockets together may take to close, by default, in seconds. A route may declare more."""
CANCEL_SHARE: Final = 0.1
"""The share of the time for closing that is kept for cancelling the sessions that did not close by themselves."""
CLOSE_HANDSHAKE_S: Final = 1.0
"""How long a closing socket waits for the other side's close frame."""

_open: Final = Gauge("drover_sockets_open", "Open WebSockets, by route template.", ["route"])

log = structlog.stdlib.get_logger(__name__)


class Session(Protocol):
    """The server's side of one socket."""

    def run(self, socket: web.WebSocketResponse) -> Awaitable[None]:
        """Run the session from the upgrade to its end. The socket is closed when this returns."""
        ...

    def leave(self) -> Awaitable[None]:
        """Say goodbye and close the socket, because the server stops. Called at most once, while `run` runs, which then
        ends.

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
        """Count a session as open while the block runs. Enter it in the task that runs the session."""
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
