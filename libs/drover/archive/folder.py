"""Reads the archive of one context in a folder: a thread reads one segment at a time, so that the loop goes on."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import AsyncIterator, Collection
from pathlib import Path

from drover.archive.archive import Archive
from drover.archive.index import Segment
from drover.archive.text import Placed


class FolderArchive:
    """The archive as its index was when it was opened. It keeps the last segment that was searched, because the next
    search is often in the same one."""

    def __init__(self, archive: Archive) -> None:
        index = archive.index
        self.last = index.last
        self.last_commit = index.segments[-1].last_commit if index.segments else ""
        self.partitions: Collection[str] = index.ordinals().keys()
        self._archive = archive
        self._ends = [segment.last for segment in index.segments]
        self._kept: tuple[int, list[Placed]] = (-1, [])

    @classmethod
    async def open(cls, directory: Path, context: str) -> FolderArchive:
        """Open the archive of a context. Raises ArchiveMissing or FileDamaged."""
        return cls(await asyncio.to_thread(Archive, directory, context))

    async def commits(self, after: int) -> AsyncIterator[Placed]:
        """Read the commits of all partitions after a position, in order. Raises FileDamaged."""
        for number in range(bisect_left(self._ends, after + 1), len(self._ends)):
            for placed in await self._segment(number):
                if placed.commit.seq > after:
                    yield placed

    async def get(self, seq: int) -> Placed | None:
        """Return the commit at a position; None beyond the end. Raises FileDamaged."""
        number = bisect_left(self._ends, seq)
        if seq < 1 or number == len(self._ends):
            return None
        first = self._archive.index.segments[number].first
        return (await self._segment(number))[seq - first]  # a segment has every position of its range

    async def _segment(self, number: int) -> list[Placed]:
        if self._kept[0] != number:
            self._kept = (-1, [])  # before the next one is read, so that only one is in memory
            self._kept = (number, await asyncio.to_thread(self._read, self._archive.index.segments[number]))
        return self._kept[1]

    def _read(self, segment: Segment) -> list[Placed]:
        return list(self._archive.commits_of(segment))
