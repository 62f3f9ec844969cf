"""Logs in memory that tests write into, and what of them a stream should tell."""

from __future__ import annotations

from contextlib import asynccontextmanager

import msgspec

from drover.api.live.place import START, Place
from drover.eventlog.log import Commit, Partition, StoredCommit
from drover.eventlog.memory import MemoryLog


def line_of(n: int, type_: str = "Happened", **fields) -> bytes:
    return msgspec.json.encode({"type": type_, "n": n, **fields})


class WrittenLog(MemoryLog):
    """A log whose events are numbered."""

    def __init__(self, context: str = "fleet", batch_max: int = 256) -> None:
        super().__init__(Partition(context))
        self.places: list[Place] = []
        """Of every event, in order."""
        self._batch_max = batch_max
        self.opened = 0
        """How often somebody began to read."""

    async def write(self, events: int = 1, **fields) -> int:
        """One commit with so many events."""
        seq = len(self._commits) + 1
        first = len(self.places)
        lines = [line_of(first + number, **fields) for number in range(events)]
        self.places += [Place(seq, number) for number in range(events)]
        return await self.append(Commit(str(seq), 1, b"\n".join(lines) + b"\n"), seq - 1)

    def after(self, place: Place) -> list[Place]:
        return [later for later in self.places if later > place] if place != START else list(self.places)

    def commit(self, seq: int) -> StoredCommit:
        return self._commits[seq - 1]

    @asynccontextmanager
    async def read(self, after: int):
        self.opened += 1
        async with super().read(after) as reader:
            yield reader

    async def wait_beyond(self, seq: int) -> list[StoredCommit]:
        return (await super().wait_beyond(seq))[: self._batch_max]
