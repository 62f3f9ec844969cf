"""A log in memory, for tests and simulation. It behaves like the one in `jetstream`, except that it is not durable."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final

from drover.eventlog.log import AppendConflict, BelowBottom, Commit, LogFull, Partition, StoredCommit, Unsettled

READ_COMMITS_MAX: Final = 256


class MemoryLog:
    """The log of one partition, as a list. Sequence numbers start at 1 and have no gaps."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.unsettled: Unsettled | None = None
        """Always None here: an append in memory ends at once."""
        self.bytes_max: int | None = None
        """How many bytes all commits may have together; tests set it. None: there is no limit."""
        self._commits: list[StoredCommit] = []
        self._purged = 0
        """How many commits have left the log."""
        self._grown = asyncio.Condition()

    @property
    def _end(self) -> int:
        return self._purged + len(self._commits)

    async def append(self, commit: Commit, expected: int) -> int:
        async with self._grown:
            if expected != self._end:
                raise AppendConflict
            if self.bytes_max is not None and self._bytes() + len(commit.payload) > self.bytes_max:
                raise LogFull("the test's limit")
            stored = StoredCommit(expected + 1, commit.id, commit.epoch, datetime.now(UTC), commit.payload)
            self._commits.append(stored)
            self._grown.notify_all()
            return stored.seq

    def purge(self, *, below: int) -> None:
        """Remove the commits below a position."""
        gone = max(0, min(below - 1, self._end) - self._purged)
        self._commits = self._commits[gone:]
        self._purged += gone

    def _bytes(self) -> int:
        return sum(len(commit.payload) for commit in self._commits)

    async def last(self) -> StoredCommit | None:
        return self._commits[-1] if self._commits else None

    async def context_end(self) -> int:
        return self._end

    async def get(self, seq: int) -> StoredCommit | None:
        if 1 <= seq <= self._purged:
            raise BelowBottom(self.partition, seq - 1)
        return self._commits[seq - self._purged - 1] if 1 <= seq <= self._end else None

    @asynccontextmanager
    async def read(self, after: int) -> AsyncIterator[MemoryReader]:
        yield MemoryReader(self, after)

    async def wait_beyond(self, seq: int) -> list[StoredCommit]:
        async with self._grown:
            await self._grown.wait_for(lambda: self._end > seq)
            if seq < self._purged:
                raise BelowBottom(self.partition, seq)
            begin = seq - self._purged
            return self._commits[begin : begin + READ_COMMITS_MAX]

    def count_beyond(self, seq: int) -> int:
        return self._end - seq


class MemoryReader:
    def __init__(self, log: MemoryLog, after: int) -> None:
        self._log = log
        self._seq = after
        self._behind = 0

    async def next(self) -> list[StoredCommit]:
        batch = await self._log.wait_beyond(self._seq)
        self._seq = batch[-1].seq
        self._behind = self._log.count_beyond(self._seq)
        return batch

    @property
    def behind(self) -> int:
        return self._behind
