"""Fault injection: a TCP proxy that cuts or stops a connection at a chosen point."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

CHUNK_BYTES: Final = 65_536

Cut = Callable[[bytes], int | None]
"""Decides whether to cut a connection. It gets the next bytes in one direction, and returns how many of them still pass
before the cut. None: all of them pass, and the connection is not cut."""


class FaultyLine:
    """A proxy between a client and a server on loopback. Faults apply to open and to later connections."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self.port = 0
        self.cuts = 0
        self.cut_from_server: Cut | None = None
        self.cut_to_server: Cut | None = None
        self.delay_s = 0.0
        """How long each piece of data waits before it passes on."""
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._refusing = False
        self._writers: dict[asyncio.StreamWriter, None] = {}
        """The writers to both ends of each open connection, in the order of opening, so that a seed gives the same run
        each time."""
        self._tasks: set[asyncio.Task[None]] = set()

    def hold(self) -> None:
        """Pass nothing on, without closing connections, like a server that hangs."""
        self._flowing.clear()

    def resume(self) -> None:
        self._flowing.set()

    def refuse(self, refusing: bool = True) -> None:
        """Close every connection and refuse new ones, or accept them again."""
        self._refusing = refusing
        if refusing:
            self.cut_all()

    def cut_all(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refusing:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            server_reader, server_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        pair = (writer, server_writer)
        self._writers.update(dict.fromkeys(pair))
        try:
            await asyncio.gather(
                self._pump(reader, server_writer, pair, lambda: self.cut_to_server),
                self._pump(server_reader, writer, pair, lambda: self.cut_from_server),
            )
        finally:
            for one in pair:
                one.transport.abort()
                self._writers.pop(one, None)
            self._tasks.discard(task)

    async def _pump(
        self,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        pair: tuple[asyncio.StreamWriter, ...],
        rule: Callable[[], Cut | None],
    ) -> None:
        with suppress(OSError):
            while data := await source.read(CHUNK_BYTES):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                await self._flowing.wait()
                cut = rule()
                passing = cut(data) if cut is not None else None
                if passing is not None:
                    self.cuts += 1
                    sink.write(data[:passing])
                    with suppress(OSError):
                        await sink.drain()
                    break
                sink.write(data)
                await sink.drain()
        for one in pair:
            one.transport.abort()


@asynccontextmanager
async def faulty_line(host: str, port: int) -> AsyncIterator[FaultyLine]:
    line = FaultyLine(host, port)
    server = await asyncio.start_server(line._accept, "127.0.0.1", 0)
    line.port = server.sockets[0].getsockname()[1]
    try:
        yield line
    finally:
        server.close()
        line.resume()
        line.cut_all()
        await asyncio.gather(*line._tasks, return_exceptions=True)
