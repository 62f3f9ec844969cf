"""An event loop with virtual time whose TCP connections stay in memory, so that clients and servers share one clock.

Only `create_connection` and `create_server` are simulated, which is what asyncio's streams use. Host names are ignored:
a port is an address. To cut, hold or slow a connection, put a `faults.faulty_line` in between.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

import msgspec

from drover.testing.virtual_time import VirtualTimeLoop

T = TypeVar("T")

FIRST_PORT: Final = 40_000
_Factory = Callable[[], asyncio.BaseProtocol]


class SimulatedLoop(VirtualTimeLoop):
    """The event loop. `latency_s` is called for each piece of data, and returns its delay in seconds. If it is random
    with a seed, each seed gives another order of events, and the same seed always gives the same order."""

    def __init__(self, latency_s: Callable[[], float] | None = None) -> None:
        super().__init__()
        self.latency_s = latency_s
        self.listeners: dict[int, _Factory] = {}
        self._ports = itertools.count(FIRST_PORT)

    async def create_connection(  # type: ignore[override]  # of its many options, nobody here needs any
        self, protocol_factory: _Factory, host: str | None = None, port: int | None = None, **options: Any
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        accept = self.listeners.get(port or 0)
        if accept is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        near, far = _End(self, protocol_factory()), _End(self, accept())
        near.peer, far.peer = far, near
        far.protocol.connection_made(far)
        near.protocol.connection_made(near)
        return near, near.protocol

    async def create_server(  # type: ignore[override]
        self, protocol_factory: _Factory, host: str | None = None, port: int | None = None, **options: Any
    ) -> Listener:
        port = port or next(self._ports)
        self.listeners[port] = protocol_factory
        return Listener(self, port)


class _Address(msgspec.Struct):
    port: int

    def getsockname(self) -> tuple[str, int]:
        return "simulated", self.port


class Listener:
    """Accepts connections at a port until it is closed. Open connections stay then, as with a real server."""

    def __init__(self, loop: SimulatedLoop, port: int) -> None:
        self._loop = loop
        self.sockets = [_Address(port)]

    def close(self) -> None:
        self._loop.listeners.pop(self.sockets[0].port, None)


class _End(asyncio.Transport):
    """One end of a connection. What is written at one end arrives at the other in the same order."""

    def __init__(self, loop: SimulatedLoop, protocol: asyncio.BaseProtocol) -> None:
        super().__init__()
        self.protocol = protocol
        self.peer: _End
        self._loop = loop
        self._inbound: deque[bytes | None] = deque()
        """Data on its way to this end. None: the other end has closed."""
        self._last_arrival_s = 0.0
        self._arrived = 0
        self._reading = True
        self._closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if data and not self._closing:
            self.peer._send_here(bytes(data))

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self.peer._send_here(None)
            self._loop.call_soon(self.protocol.connection_lost, None)

    def abort(self) -> None:
        self.close()

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        self._loop.call_soon(self._read)

    def _send_here(self, data: bytes | None) -> None:
        self._inbound.append(data)
        if self._loop.latency_s is None:
            self._loop.call_soon(self._arrive)
        else:
            # Never before the data that was sent earlier.
            self._last_arrival_s = max(self._last_arrival_s, self._loop.time() + self._loop.latency_s())
            self._loop.call_at(self._last_arrival_s, self._arrive)

    def _arrive(self) -> None:
        self._arrived += 1
        self._read()

    def _read(self) -> None:
        while self._arrived and self._reading and not self._closing:
            self._arrived -= 1
            data = self._inbound.popleft()
            assert isinstance(self.protocol, asyncio.Protocol)
            if data is not None:
                self.protocol.data_received(data)
            elif not self.protocol.eof_received():
                self.close()


def run_simulated(main: Coroutine[Any, Any, T], latency_s: Callable[[], float] | None = None) -> T:
    """Run a coroutine to its end on a simulated loop of its own."""
    with asyncio.Runner(loop_factory=lambda: SimulatedLoop(latency_s)) as runner:
        return runner.run(main)
