"""Copies the log into an archive, file by file, from where the last run ended. The log is not changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Final

import msgspec

from drover.archive.archive import Progress, no_progress
from drover.archive.errors import ForeignArchive
from drover.archive.index import Index, Segment
from drover.archive.reading import ends_of, placed_commits
from drover.archive.segment import SegmentWriter, decoded, load_segment
from drover.archive.store import ArchiveStore
from drover.archive.text import Placed
from drover.archive.writing import Writing, writing
from drover.eventlog.codec import lines
from drover.eventlog.log import EventLog

COMMITS_PER_TURN: Final = 50
"""How many commits are copied before other tasks of the event loop may run."""


class Archived(msgspec.Struct):
    """The result of copying the log into an archive."""

    context: str
    last: int
    """The sequence of the last commit in the archive."""
    commits: int
    events: int
    """How many events this run added to the archive; `commits` counts its commits."""
    segments: int
    """How many segments the archive has in total."""
    log_last: int
    """The sequence of the last commit of the log when the run began."""


class _Stamp(msgspec.Struct):
    n: int
    at: datetime


class _Stop(msgspec.Struct, frozen=True):
    """Where to stop copying: after the sequence `seq`, or before the first commit of the time `before` or later. None:
    no such limit."""

    seq: int | None
    before: datetime | None

    def reached(self, placed: Placed) -> bool:
        """Whether this commit is beyond the requested end, so that neither it nor a later one is copied."""
        if self.seq is not None and placed.commit.seq > self.seq:
            return True
        payload = placed.commit.payload
        return self.before is not None and bool(payload) and stamp_of(payload).at >= self.before


def stamp_of(payload: bytes) -> _Stamp:
    """Return number and time of a commit's last event."""
    return msgspec.json.decode(lines(payload)[-1], type=_Stamp)


async def create(
    store: ArchiveStore,
    logs: Sequence[EventLog],
    *,
    up_to: int | None = None,
    before: datetime | None = None,
    progress: Progress = no_progress,
    sweep: bool = True,
) -> Archived:
    """Copy all commits into the archive, or only those up to the position `up_to` or before the time `before`. If this
    is interrupted, the archive is complete up to the last finished segment.

    `logs`: one for each partition of the context. `sweep`: whether to delete files that a killed run left behind; for
    this, all files of the archive are listed.
    """
    context = logs[0].partition.context
    async with writing(store, context, [log.partition.name for log in logs]) as archive:
        index = archive.index
        ends = await ends_of(logs)
        end = max(ends.values(), default=0)
        await _same_history(index, logs, end)
        if sweep:
            await archive.sweep(end)
        had = (index.last, index.commits, index.events)
        if end > had[0]:
            of = await _events_to_come(logs, index)
            work = _Work(archive, _Stop(up_to, before), progress, of)
            async with aclosing(placed_commits(logs, ends, index.last)) as fresh:
                await work.run(fresh)
        return Archived(context, index.last, index.commits - had[1], index.events - had[2], index.count, end)


class _Work:
    def __init__(self, archive: Writing, stop: _Stop, progress: Progress, of: int) -> None:
        self._archive = archive
        self._index = archive.index
        self._stop = stop
        self._progress = progress
        self._of = of
        self._done = 0
        self._writer: SegmentWriter | None = None
        self._kept = len(self._index.segments)
        """How many segments after those in volumes stay as they are. The segment that is being written comes after
        them."""

    async def run(self, fresh: AsyncIterator[Placed]) -> None:
        turn = 0
        async for placed in fresh:
            if self._stop.reached(placed):
                break
            await self._take(placed)
            turn += 1
            if turn % COMMITS_PER_TURN == 0:
                self._progress(self._done, self._of)
                await asyncio.sleep(0)
        await self._finish()
        self._progress(self._done, self._of)

    async def _take(self, placed: Placed) -> None:
        if self._writer is None:
            self._writer = await self._begin()
        self._done += self._writer.take(placed)
        if self._writer.is_full:
            await self._finish()

    async def _begin(self) -> SegmentWriter:
        """Begin a segment. If the last one is not full, write it again together with the new commits, so that frequent
        runs do not make many files."""
        index = self._index
        again: Segment | None = None
        if index.segments and not index.segments[-1].is_full:
            again = index.segments[-1]
        self._kept = len(index.segments) - (again is not None)
        known = index.ordinals(self._kept)
        writer = SegmentWriter(index, index.last_before(self._kept), known)
        if again is not None:
            store = self._archive.store
            data = await load_segment(store, index.context, again)
            await asyncio.to_thread(_copy, decoded(store, index, again, data, known), writer)
        return writer

    async def _finish(self) -> None:
        if self._writer is not None:
            made, data = self._writer.finish()
            await self._archive.add_segment(self._kept, made, data)
            self._writer = None


def _copy(commits: Iterator[Placed], writer: SegmentWriter) -> None:
    for placed in commits:
        writer.take(placed)


async def _same_history(index: Index, logs: Sequence[EventLog], end: int) -> None:
    """Raise ForeignArchive unless the log has the archive's last commit at the same position."""
    if not index.segments:
        return
    names = [log.partition.name for log in logs]
    if index.partitions != names:
        reason = f"the archive has the partitions {index.partitions}, the log has {names}"
        raise ForeignArchive(index.context, index.last, reason)
    last = index.segments[-1]
    if end < last.last:
        raise ForeignArchive(index.context, last.last, f"the log ends before that, at {end}")
    found = await logs[0].get(last.last)
    if found is None or found.id != last.last_commit:
        raise ForeignArchive(index.context, last.last, "the log has another commit there")


async def _events_to_come(logs: Sequence[EventLog], index: Index) -> int:
    """Count the events that are not archived yet, from the numbers of the last events, for the progress bar."""
    known = index.ordinals()
    count = 0
    for log in logs:
        if (last := await log.last()) is not None and last.payload:
            count += stamp_of(last.payload).n - known.get(log.partition.name, 0)
    return count
