"""A divided context in memory, with commits of any bytes; and archives of it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from drover.archive.text import Placed
from drover.eventlog.log import ALL, BelowBottom, Partition, StoredCommit

BEGAN = datetime(2026, 1, 31, 8, 0, tzinfo=UTC)


class Stream:
    """One context: partitions that share the sequences of one stream."""

    def __init__(self, *partitions, context="fleet"):
        self.context = context
        self.partitions = partitions or ("main",)
        self.placed: list[Placed] = []
        self.bottoms = dict.fromkeys(self.partitions, 0)
        self._n = dict.fromkeys(self.partitions, 0)

    def commit(self, *texts, partition=None, id=None):
        """One event for each text."""
        name = partition or self.partitions[0]
        seq = len(self.placed) + 1
        at = BEGAN + timedelta(minutes=seq)
        lines = []
        for text in texts or ("something",):
            self._n[name] += 1
            stamp = at.isoformat().replace("+00:00", "Z")
            lines.append(
                f'{{"type":"Said","text":"{text}","n":{self._n[name]},"at":"{stamp}","by":"anon","cause":"c"}}\n'
            )
        stored = at + timedelta(microseconds=seq)
        commit = StoredCommit(seq, id or f"{self.context}-{seq}", 1 + seq // 5, stored, "".join(lines).encode())
        self.placed.append(Placed(name, commit))
        return self

    def grown(self, commits, words=3):
        for number in range(commits):
            name = self.partitions[number % len(self.partitions)]
            self.commit(*(f"{number} {word}" for word in range(1 + number % words)), partition=name)
        return self

    def purge(self, below, *partitions):
        """Let the commits of these partitions, or of all, leave the stream below a position."""
        for name in partitions or self.partitions:
            self.bottoms[name] = below

    def has(self, placed):
        return placed.commit.seq >= self.bottoms[placed.partition]

    @property
    def logs(self):
        return [StreamLog(self, name) for name in self.partitions]


class StreamLog:
    """The part of the port that reading needs."""

    def __init__(self, stream, name):
        self.partition = Partition(stream.context, name)
        self._stream = stream

    def ours(self):
        """All commits of the partition, with those that have left the stream."""
        name = self.partition.name
        return [placed for placed in self._stream.placed if name in (ALL, placed.partition)]

    async def last(self):
        left = [placed.commit for placed in self.ours() if self._stream.has(placed)]
        return left[-1] if left else None

    async def get(self, seq):
        found = next((placed for placed in self._stream.placed if placed.commit.seq == seq), None)
        if found is not None and not self._stream.has(found):
            raise BelowBottom(self.partition, seq - 1)
        return found and found.commit

    async def context_end(self):
        return len(self._stream.placed)

    @asynccontextmanager
    async def read(self, after):
        yield _Reader(self, self._stream, after)


class _Reader:
    behind = 0

    def __init__(self, log, stream, after):
        self._log = log
        self._stream = stream
        self._after = after

    async def next(self):
        """The next seven commits at most, up to one that has left the stream."""
        batch = []
        for placed in self._log.ours():
            if placed.commit.seq > self._after and len(batch) < 7:
                if not self._stream.has(placed):
                    break
                batch.append(placed.commit)
        if not batch and any(placed.commit.seq > self._after for placed in self._log.ours()):
            raise BelowBottom(self._log.partition, self._after)
        assert batch, "a real one would wait for ever"
        self._after = batch[-1].seq
        return batch


async def all_of(archive, after=0):
    return [placed async for placed in archive.commits(after)]


@pytest.fixture
def stream():
    return Stream().grown(20)
