"""Sends malformed requests and frames to a platform over plain sockets, and looks at every answer."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Final

import msgspec

from tests.fuzz.hostile import Gunner, Operation, Shot, framed
from tests.fuzz.reach import Answers, no_answers
from tests.fuzz.target import SERIAL, Caller

ANSWER_S: Final = 25.0
"""More than any answer may take: a command waits up to 20 s for a writer."""
HEAD_BYTES_MAX: Final = 64 * 1024
PER_CONNECTION: Final = 200
FRAMES: Final = 20
"""On one socket, which a server may close before."""
AFTER_FRAMES_S: Final = 0.05
SHOWN_BYTES: Final = 600
FAULTS_MAX: Final = 20
WRONG: Final = frozenset({500, 502, 504})
"""501 is what a platform without a NAS says about films, 503 what it says while something is away."""
SOCKETS: Final = {
    "agent": "/agent/v1/connect",
    "realtime 1": "/realtime/v1/websocket?vsn=1.0.0&apikey={key}",
    "realtime 2": "/realtime/v1/websocket?vsn=2.0.0&apikey={key}",
}

JOIN: Final = b'{"config": {"postgres_changes": [{"event": "*", "schema": "public", "table": "devices"}]}}'
GREETINGS: Final = {
    "agent": b'{"type": "hello", "serial_number": "%s"}' % SERIAL.encode(),
    "realtime 1": b'{"topic": "realtime:a", "event": "phx_join", "payload": %s, "ref": "1"}' % JOIN,
    "realtime 2": b'["1", "1", "realtime:a", "phx_join", %s]' % JOIN,
}
GREETED: Final = 0.5
"""The share of sockets that begin as they should: what comes then is looked at more closely."""


class Tally(msgspec.Struct):
    """What was sent and what came back."""

    sent: Counter[str] = msgspec.field(default_factory=Counter)
    """By kind of request."""
    statuses: Counter[int] = msgspec.field(default_factory=Counter)
    answers: Answers = msgspec.field(default_factory=no_answers)
    faults: list[str] = msgspec.field(default_factory=list)
    unavailable: list[str] = msgspec.field(default_factory=list)
    """Some of the requests that were answered with 503: no faults, but somebody should know why."""

    @property
    def total(self) -> int:
        return self.sent.total()

    def count(self, status: int, operation: str) -> None:
        """`operation`: its name; empty if it was no request to one. Status 0: closed without a word."""
        self.statuses[status] += 1
        if operation:
            self.answers[operation][status] += 1

    def note(self, what: str, data: bytes) -> None:
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(f"{what}: {data[:SHOWN_BYTES]!r}")

    def note_unavailable(self, status: int, data: bytes) -> None:
        if status == 503 and len(self.unavailable) < FAULTS_MAX:
            self.unavailable.append(repr(data[:SHOWN_BYTES]))


class Attacker:
    """One client, which sends until the tally is full. Each number makes other requests."""

    def __init__(
        self,
        port: int,
        operations: Sequence[Operation],
        callers: Sequence[Caller],
        tally: Tally,
        *,
        seed: str,
        known: Callable[[str, str], Sequence[str]] = lambda path, parameter: (),
    ) -> None:
        self._port = port
        self._random = Random(seed)
        self._gunner = Gunner(self._random, operations, callers, known)
        self._tally = tally

    def meet(self, callers: Sequence[Caller]) -> None:
        """Go on with other keys and tokens."""
        self._gunner.callers = callers

    async def attack(self, until: int) -> None:
        while self._tally.total < until:
            with suppress(ConnectionError):
                await (self._send_frames() if self._random.random() < 0.3 else self._send_requests(until))

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._port, limit=HEAD_BYTES_MAX)

    async def _send_requests(self, until: int) -> None:
        reader, writer = await self._connect()
        try:
            for _ in range(PER_CONNECTION):
                shot = self._gunner.shot()
                self._tally.sent[shot.kind] += 1
                writer.write(shot.data)
                if not await self._answered(shot, reader) or self._tally.total >= until:
                    return
        finally:
            writer.close()

    async def _answered(self, shot: Shot, reader: asyncio.StreamReader) -> bool:
        """Wait for the answer. Returns whether the connection can be used again."""
        if not shot.answered:
            return False
        try:
            async with asyncio.timeout(ANSWER_S):
                status, goes_on = await answer(reader)
        except TimeoutError:
            self._tally.note("no answer", shot.data)
            return False
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            self._tally.count(0, shot.operation)
            return False
        self._tally.count(status, shot.operation)
        self._tally.note_unavailable(status, shot.data)
        if status in WRONG:
            self._tally.note(str(status), shot.data)
        return goes_on and not shot.last

    async def _send_frames(self) -> None:
        kind = self._random.choice([*SOCKETS])
        operation = f"GET {SOCKETS[kind].partition('?')[0]}"
        caller = self._random.choice(self._gunner.callers)
        key = caller.headers.get("apikey") or caller.headers.get("Authorization", "Bearer ").partition(" ")[2]
        reader, writer = await self._connect()
        try:
            writer.write(_upgrade(SOCKETS[kind].format(key=key), key))
            async with asyncio.timeout(ANSWER_S):
                status, _ = await answer(reader)
            self._tally.sent["socket"] += 1
            self._tally.count(status, operation)
            self._tally.note_unavailable(status, kind.encode())
            if status in WRONG:
                self._tally.note(f"{status} for a socket", kind.encode())
            if status == 101:
                await self._exchange(kind, reader, writer)
        except TimeoutError:
            self._tally.note("no answer to an upgrade", kind.encode())
        except asyncio.IncompleteReadError:
            self._tally.count(0, operation)
        finally:
            writer.close()

    async def _exchange(self, kind: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        make = self._gunner.agent_frame if kind == "agent" else self._gunner.realtime_frame
        drained = asyncio.create_task(_drain(reader))
        try:
            if self._random.random() < GREETED:
                writer.write(framed(GREETINGS[kind]))
            for _ in range(FRAMES):
                self._tally.sent[f"frame of {kind}"] += 1
                writer.write(make())
                await writer.drain()
                if drained.done():
                    return
            await asyncio.wait({drained}, timeout=AFTER_FRAMES_S)
        finally:
            drained.cancel()
            with suppress(asyncio.CancelledError, ConnectionError):
                await drained


async def _drain(reader: asyncio.StreamReader) -> None:
    while await reader.read(HEAD_BYTES_MAX):
        pass


def _upgrade(path: str, key: str) -> bytes:
    lines = [
        f"GET {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        *([f"apikey: {key}"] if key else []),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def answer(reader: asyncio.StreamReader) -> tuple[int, bool]:
    """Read one answer to its end. Returns its status, and whether another one may follow on the connection."""
    head = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
    status = int(head[0].split(b" ", 2)[1])
    if status == 100:
        return await answer(reader)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in head[1:])}
    if status == 101 or headers.get(b"content-type", b"").startswith(b"text/event-stream"):
        return status, False
    if headers.get(b"transfer-encoding") == b"chunked":
        while size := int(await reader.readuntil(b"\r\n"), 16):
            await reader.readexactly(size + 2)
        await reader.readexactly(2)
    elif length := int(headers.get(b"content-length", b"0")):
        await reader.readexactly(length)
    return status, headers.get(b"connection", b"").lower() != b"close"
