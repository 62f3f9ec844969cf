"""Reads while an upgrade is under way: each answer must have every row that was written before it was asked for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import aiohttp

from tests.chaos.load import Load
from tests.e2e.client import Http

PAUSE_S = 0.05
READERS = 3
BEHIND_S_MAX = 10.0
"""An answer with `Drover-Behind` may lack the writes of this long, and no older ones."""


class Reads:
    """Counts phones, again and again, at every edge in turn."""

    def __init__(self, load: Load, known_before: int) -> None:
        """`known_before`: how many phones there were before the load began."""
        self.done = 0
        self.behind = 0
        self.short: list[str] = []
        self.failed: list[str] = []
        self._load = load
        self._known_before = known_before
        self._stopping = False

    async def read(self, edges: Sequence[Http], first: int) -> None:
        turn = first
        while not self._stopping:
            turn += 1
            await self._read_at(edges[turn % len(edges)])
            await asyncio.sleep(PAUSE_S)

    async def _read_at(self, edge: Http) -> None:
        began = time.monotonic()
        expected = self._written_before(began)
        expected_if_behind = self._written_before(began - BEHIND_S_MAX)
        try:
            answer = await edge.get("/rest/v1/devices?select=id&limit=1", headers={"Prefer": "count=exact"})
        except (aiohttp.ClientError, TimeoutError) as error:
            self.failed.append(repr(error))
            return
        if answer.status not in (200, 206):
            self.failed.append(f"{answer.status} {answer.raw[:200]!r}")
            return
        self.done += 1
        found = int(answer.headers["Content-Range"].rpartition("/")[2])
        is_behind = "Drover-Behind" in answer.headers
        self.behind += is_behind
        if found < (expected_if_behind if is_behind else expected):
            self.short.append(f"{found} of {expected} phones{', behind' if is_behind else ''}")

    def _written_before(self, moment: float) -> int:
        return self._known_before + sum(sent.acknowledged and sent.ended < moment for sent in self._load.sent)

    @asynccontextmanager
    async def running(self, edges: Sequence[Http]) -> AsyncIterator[Reads]:
        tasks = [asyncio.create_task(self.read(edges, number)) for number in range(READERS)]
        try:
            yield self
        finally:
            self._stopping = True
            await asyncio.gather(*tasks)
