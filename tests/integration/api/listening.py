"""A client of the stream: it reads server-sent events as the standard has it, and knows where to go on."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, NamedTuple

import aiohttp
import msgspec

from drover.api.live.live import PATH

PATIENCE_S = 60.0
SMALL_BYTES = 4 * 1024
LARGE_BYTES = 64 * 1024


class Heard(NamedTuple):
    id: str
    type: str
    data: Any


class Ear:
    """Bytes in, events out."""

    def __init__(self) -> None:
        self.last_id: str | None = None
        self.retry_ms: int | None = None
        self.comments: list[str] = []
        self._rest = b""
        self._id: str | None = None
        self._type, self._data = "", ""

    def hear(self, received: bytes) -> list[Heard]:
        *lines, self._rest = (self._rest + received).split(b"\n")
        return [heard for line in lines if (heard := self._line(line.decode())) is not None]

    def _line(self, line: str) -> Heard | None:
        if not line:
            self.last_id = self._id  # not before: the line may be cut between an id and its event
            type_, data, self._type, self._data = self._type, self._data, "", ""
            return Heard(self.last_id or "", type_, msgspec.json.decode(data)) if data else None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not name:
            self.comments.append(value)
        elif name == "id":
            self._id = value
        elif name == "event":
            self._type = value
        elif name == "data":
            self._data += value
        elif name == "retry":
            self.retry_ms = int(value)
        return None


class Listener:
    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.answer = answer
        self.ear = Ear()
        self.hello: Heard | None = None
        self._heard: list[Heard] = []

    async def next(self, count: int = 1, within_s: float = PATIENCE_S) -> list[Heard]:
        """So many events more, as soon as they are there."""
        async with asyncio.timeout(within_s):
            while len(self._heard) < count:
                received = await self.answer.content.readany()
                assert received, f"the stream ended; heard: {self._heard}"
                self._heard += self.ear.hear(received)
        taken, self._heard = self._heard[:count], self._heard[count:]
        return taken

    async def until(self, type_: str, within_s: float = PATIENCE_S) -> list[Heard]:
        """Everything up to the next event of this type."""
        heard: list[Heard] = []
        async with asyncio.timeout(within_s):
            while not heard or heard[-1].type != type_:
                heard += await self.next()
        return heard

    async def heartbeat(self, within_s: float = PATIENCE_S) -> None:
        """The next one; events that come before it are kept."""
        known = len(self.ear.comments)
        async with asyncio.timeout(within_s):
            while len(self.ear.comments) == known:
                received = await self.answer.content.readany()
                assert received, "the stream ended"
                self._heard += self.ear.hear(received)

    async def rest(self, within_s: float = PATIENCE_S) -> list[Heard]:
        """All that comes until the server ends it."""
        async with asyncio.timeout(within_s):
            while received := await self.answer.content.readany():
                self._heard += self.ear.hear(received)
        taken, self._heard = self._heard, []
        return taken


def _socket(room_bytes: int, address: aiohttp.AddrInfoType) -> socket.socket:
    made = socket.socket(*address[:3])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room_bytes)
    return made


@asynccontextmanager
async def listening(
    url: str,
    key: str,
    query: str = "",
    *,
    last_id: str | None = None,
    takes_little: bool = False,
    path: str = PATH,
) -> AsyncIterator[Listener]:
    """A stream that has said hello, on a connection of its own. One that takes little has small buffers on this end."""
    headers = {"apikey": key} | ({} if last_id is None else {"Last-Event-ID": last_id})
    forever = aiohttp.ClientTimeout(total=None)
    room_bytes = SMALL_BYTES if takes_little else LARGE_BYTES
    connector = aiohttp.TCPConnector(socket_factory=partial(_socket, room_bytes))
    async with (
        aiohttp.ClientSession(connector=connector, timeout=forever, read_bufsize=room_bytes) as session,
        session.get(f"{url}{path}{query}", headers=headers) as answer,
    ):
        assert answer.status == 200, await answer.text()
        listener = Listener(answer)
        (listener.hello,) = await listener.next()
        assert listener.hello.type == "hello"
        yield listener
