"""Serves an application on a port, and shuts it down gracefully."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ssl import SSLContext
from typing import Final

from aiohttp import web

from drover.domain.errors import DroverError
from drover.service.reasons import reason_of
from drover.web.application import SOCKETS
from drover.web.bodies import BODY_WITHIN_S

REQUEST_LINE_BYTES_MAX: Final = 16 * 1024  # room for a filter `id=in.(…)` with a few hundred ids
KEEPALIVE_S: Final = 75.0
"""How many seconds a connection may stay open without a request. The headers of the next request must arrive within
this time, too."""
CLOSE_SOCKETS_SHARE: Final = 0.4
"""The share of the grace period in which open WebSockets are closed. Requests continue meanwhile."""
CUT_AFTER_SHARE: Final = 0.45
"""After the WebSockets are closed, the share of the remaining grace period that aiohttp gets as its time-out. It is
below a half, because aiohttp may wait that long twice before it cuts open connections."""


class CannotListen(DroverError):
    """The process cannot listen on DROVER_HTTP_HOST and DROVER_HTTP_PORT."""

    def __init__(self, host: str, port: int, why: str) -> None:
        super().__init__(f"Port {port} on {host} {why}")
        self.host = host
        self.port = port


class PortInUse(CannotListen):
    """Another process listens on the port."""


def cannot_listen(host: str, port: int, error: OSError) -> CannotListen:
    """Make the error, with advice, from the error of the operating system."""
    if error.errno == errno.EADDRINUSE:
        advice = "Stop that one, or choose another port (DROVER_HTTP_PORT, or --port of `drover up`)."
        return PortInUse(host, port, f"is taken by another process. {advice}")
    if error.errno in (errno.EACCES, errno.EPERM):
        advice = "Choose one from 1024 up: `drover up --port 8080`, or DROVER_HTTP_PORT=8080."
        return CannotListen(host, port, f"needs rights that this user lacks: ports below 1024 are for root. {advice}")
    advice = "DROVER_HTTP_HOST takes an address of this machine: 127.0.0.1, or 0.0.0.0 for all of them."
    return CannotListen(host, port, f"cannot be opened ({reason_of(error)}). {advice}")


@asynccontextmanager
async def serve(
    app: web.Application, host: str, port: int, *, grace_s: float, tls: SSLContext | None = None
) -> AsyncIterator[int]:
    """Serve while the block runs, over HTTPS if `tls` is given; yields the port (a free one if 0 was given).

    On exit, close the port, then close open sockets. Running requests get most of `grace_s`; then their connections are
    cut.
    """
    runner = web.AppRunner(
        app,
        access_log=None,
        handle_signals=False,
        keepalive_timeout=KEEPALIVE_S,
        lingering_time=BODY_WITHIN_S,
        max_line_size=REQUEST_LINE_BYTES_MAX,
    )
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port, backlog=1024, ssl_context=tls).start()
        except OSError as error:
            raise cannot_listen(host, port, error) from error
        yield runner.addresses[0][1]
    finally:
        await _drain(runner, app, grace_s)
        await runner.cleanup()


async def _drain(runner: web.AppRunner, app: web.Application, grace_s: float) -> None:
    clock = asyncio.get_running_loop().time
    deadline = clock() + grace_s
    for site in runner.sites:
        await site.stop()
    if SOCKETS in app:
        # Close the sockets before the next step: after that, aiohttp reads nothing more, not even the close frame of a
        # socket.
        await app[SOCKETS].close_all(grace_s * CLOSE_SOCKETS_SHARE)
    if runner.server is not None:
        await asyncio.sleep(0)  # let requests that have just arrived begin
        runner.server.pre_shutdown()
        await runner.server.shutdown((deadline - clock()) * CUT_AFTER_SHARE)
