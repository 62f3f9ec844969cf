"""Reads the log, and returns decoded batches of bounded size. It checks that no commit is missing. No Postgres."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Final

import msgspec

from drover.eventlog.codec import Codec, UnreadableCommit
from drover.eventlog.log import Partition, Reader, StoredCommit
from drover.projection.checkpoint import Checkpoint
from drover.projection.errors import ProjectionStopped
from drover.projection.projection import raw_lines

BATCH_EVENTS_MAX: Final = 50_000
BATCH_BYTES_MAX: Final = 16 * 1024 * 1024


class DecodedCommit(msgspec.Struct, frozen=True):
    seq: int
    events: list[Any]
    lines: list[str]


class Batch(msgspec.Struct):
    """Commits that are applied to the tables and written together."""

    old: Checkpoint
    new: Checkpoint
    commits: list[DecodedCommit]
    behind: int
    """How many more commits the log had after this batch when the batch was collected."""


class Feed:
    """Returns one batch after another, in order, from a checkpoint on. A batch has all commits that are available, up
    to its maximum size."""

    def __init__(
        self,
        reader: Reader,
        codec: Codec,
        partition: Partition,
        checkpoint: Checkpoint,
        events_max: int = BATCH_EVENTS_MAX,
        bytes_max: int = BATCH_BYTES_MAX,
    ) -> None:
        self._reader = reader
        self._codec = codec
        self._partition = partition
        self._checkpoint = checkpoint
        self._events_max = events_max
        self._bytes_max = bytes_max
        self._read: deque[StoredCommit] = deque()
        """Commits that were read and not used yet. Their number is bounded by what one `next` of the reader returns."""
        self._failure: ProjectionStopped | None = None

    async def batch(self) -> Batch:
        """Return the next batch, with at least one commit. If a commit cannot be decoded, return the commits before it,
        and raise the error in the next call."""
        if self._failure is not None:
            raise self._failure
        old = self._checkpoint
        commits: list[DecodedCommit] = []
        size = 0
        while not commits or self._more(self._checkpoint.n - old.n, size):
            if not self._read:
                self._read.extend(await self._reader.next())
            commit = self._read.popleft()
            try:
                commits.append(self._decode(commit))
            except ProjectionStopped as stopped:
                self._failure = stopped
                if not commits:
                    raise
                break
            size += len(commit.payload)
            await asyncio.sleep(0)  # the event loop is shared with edges that must respond
        return Batch(old, self._checkpoint, commits, len(self._read) + self._reader.behind)

    def _more(self, events: int, size: int) -> bool:
        return events < self._events_max and size < self._bytes_max and bool(self._read or self._reader.behind)

    def _decode(self, commit: StoredCommit) -> DecodedCommit:
        try:
            events = self._codec.decode(commit.payload)
        except UnreadableCommit as error:
            raise self._stopped("unreadable", commit, line=error.line, what=error.reason) from error
        first = self._checkpoint.n + 1
        expected = range(first, first + len(events))
        if [event.n for event in events] != list(expected):
            wrong = next((e, event.n) for e, event in zip(expected, events, strict=True) if e != event.n)
            raise self._stopped("gap", commit, expected_n=wrong[0], found_n=wrong[1])
        if commit.seq <= self._checkpoint.seq:
            raise self._stopped("gap", commit, after_seq=self._checkpoint.seq)
        self._checkpoint = Checkpoint(commit.seq, self._checkpoint.n + len(events), commit.id)
        return DecodedCommit(commit.seq, events, raw_lines(commit.payload))

    def _stopped(self, reason: str, commit: StoredCommit, **details: Any) -> ProjectionStopped:
        return ProjectionStopped(self._partition.context, self._partition.name, reason, seq=commit.seq, **details)
