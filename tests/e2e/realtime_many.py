"""A Node process with many clients of the real supabase-js, each on a socket of its own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

from tests.e2e.realtime_js import CLIENT

WITHIN_S: Final = 120.0
ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
"""Of one line: a delay for each row that was heard."""


class Told(msgspec.Struct):
    """What a group of clients has heard since `begin`."""

    heard: dict[str, int]
    """How often, by table and type of change: `devices UPDATE`."""
    delays: list[float]
    """From each event to the callback, in ms."""
    since_written: list[float]
    """The part of each delay after the row was written to the read model, in ms."""
    states: dict[str, int]
    """How often a channel has come into each state, since it was opened."""
    errors: list[str]
    rows: list[int]
    """How many rows each client has heard."""


def socket(key: str, *changes: dict[str, str]) -> dict[str, Any]:
    """What one client subscribes to."""
    return {"key": key, "changes": changes}


class Clients:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def open(self, name: str, sockets: Iterable[dict[str, Any]]) -> None:
        """Returns once all of them hear changes."""
        wanted = [*sockets]
        opened = await self._ask("open", "opened", name=name, sockets=wanted)
        assert opened["states"] == {"SUBSCRIBED": len(wanted)}, opened

    async def begin(self) -> None:
        """Count from now on."""
        await self._ask("begin", "begun")

    async def tell(self, name: str) -> Told:
        return msgspec.convert(await self._ask("tell", "told", name=name), Told)

    async def close(self, name: str) -> None:
        await self._ask("close", "closed", name=name)

    async def _ask(self, command: str, answer: str, **what: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(msgspec.json.encode({"do": command, **what}) + b"\n")
        await self.process.stdin.drain()
        async with asyncio.timeout(WITHIN_S):
            line = await self.process.stdout.readline()
        assert line, "the clients ended"
        said = msgspec.json.decode(line)
        assert answer in said, said
        return said  # type: ignore[no-any-return]


@asynccontextmanager
async def clients_on(node: str, url: str) -> AsyncIterator[Clients]:
    process = await asyncio.create_subprocess_exec(
        node,
        "realtime_many.mjs",
        cwd=CLIENT,
        env=os.environ | {"DROVER_URL": url},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=ANSWER_BYTES_MAX,
    )
    try:
        yield Clients(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
