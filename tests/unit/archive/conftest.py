"""A divided context in memory, with commits of any bytes; and archives of it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from drover.archive.text import Placed
from drover.eventlog.log import Partition, StoredCommit

BEGAN = datetime(2026, 1, 31, 8, 0, tzinfo=UTC)


class Stream:
    """One context: partitions that share the sequences of one stream."""

    def __init__(self, *partitions, context="fleet"):
        self.context = context
        self.partitions = partitions or ("main",)
        self.placed: list[Placed] = []
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

    @property
    def logs(self):
        return [StreamLog(self, name) for name in self.partitions]


class StreamLog:
    """The part of the port that reading needs."""

    def __init__(self, stream, name):
        self.partition = Partition(stream.context, name)
        self._stream = stream

    def _ours(self):
        return [placed.commit for placed in self._stream.placed if placed.partition == self.partition.name]

    async def last(self):
        return self._ours()[-1] if self._ours() else None

    async def get(self, seq):
        return next((placed.commit for placed in self._stream.placed if placed.commit.seq == seq), None)

    async def context_end(self):
        return len(self._stream.placed)

    @asynccontextmanager
    async def read(self, after):
        yield _Reader([commit for commit in self._ours() if commit.seq > after])


class _Reader:
    behind = 0

    def __init__(self, commits):
        self._commits = commits

    async def next(self):
        assert self._commits, "a real one would wait for ever"
        batch, self._commits = self._commits[:7], self._commits[7:]
        return batch


async def all_of(archive, after=0):
    return [placed async for placed in archive.commits(after)]


@pytest.fixture
def stream():
    return Stream().grown(20)
