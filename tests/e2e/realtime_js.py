"""A Node process with the real supabase-js: the test says what to do, and hears what the client hears."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

CLIENT: Final = Path(__file__).parent / "js"
WITHIN_S: Final = 60.0


def _says(said: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(said.get(name) == value for name, value in wanted.items())


class Listener:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.heard: list[dict[str, Any]] = []

    async def do(self, command: str, **what: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode({"do": command, **what}) + b"\n")
        await self.process.stdin.drain()

    async def until(self, within_s: float = WITHIN_S, **wanted: Any) -> dict[str, Any]:
        """The first message from now on that says this. What comes before it is in `heard`."""
        async with asyncio.timeout(within_s):
            while True:
                said = await self._next()
                if _says(said, wanted):
                    return said

    async def until_all(self, *wanted: dict[str, Any], within_s: float = WITHIN_S) -> None:
        """Waits for messages that say each of these, in any order."""
        left = list(wanted)
        async with asyncio.timeout(within_s):
            while left:
                said = await self._next()
                left = [one for one in left if not _says(said, one)]

    async def subscribe(self, name: str, key: str, *changes: dict[str, Any], **how: Any) -> None:
        """Returns once changes are heard."""
        await self.do("subscribe", name=name, key=key, changes=changes, **how)
        await self.until(channel=name, status="SUBSCRIBED")

    def rows(self, channel: str) -> list[dict[str, Any]]:
        """The changes that a channel has heard so far."""
        return [one for one in self.heard if one["channel"] == channel and "new" in one]

    async def _next(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        assert line, f"the client ended; before, it said {self.heard[-5:]}"
        said = msgspec.json.decode(line)
        assert "failed" not in said, said
        self.heard.append(said)
        return said  # type: ignore[no-any-return]


@asynccontextmanager
async def listener_on(node: str, url: str, **environ: str) -> AsyncIterator[Listener]:
    process = await asyncio.create_subprocess_exec(
        node,
        "realtime.mjs",
        cwd=CLIENT,
        env=os.environ | {"DROVER_URL": url} | environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1024 * 1024,
    )
    try:
        yield Listener(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
