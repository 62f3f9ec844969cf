"""Makes an archive look like a read-only log, so that all code that reads a log can read an archive."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NoReturn

from drover.archive.archive import Archive
from drover.archive.errors import ArchiveMissing
from drover.archive.index import Segment
from drover.archive.text import Placed
from drover.eventlog.log import ALL, Commit, LogUnreachable, Partition, StoredCommit

READ_COMMITS_MAX: Final = 256


class ArchiveLog:
    """One partition of the archive, or all (`*`). It caches the last segment that was read, because the next read is
    often there."""

    def __init__(self, archive: Archive, partition: Partition) -> None:
        names = archive.index.partitions
        if partition.name not in (ALL, *names):
            raise ArchiveMissing(archive.folder, f"no partition {partition.name}, only {', '.join(names)}")
        self.partition = partition
        self._archive = archive
        self._ends = [segment.last for segment in archive.index.segments]
        self._kept: tuple[str, list[Placed]] | None = None

    def segment_at(self, seq: int) -> int:
        """Return the number of the segment that has this position, or the next one after it. Beyond the end, return the
        number of segments."""
        return bisect_left(self._ends, seq)

    def commits_of(self, number: int) -> list[Placed]:
        """Return the commits of this partition in a segment. Raises FileDamaged."""
        segment = self._archive.index.segments[number]
        if self._kept is None or self._kept[0] != segment.file:
            self._kept = (segment.file, list(self._archive.commits_of(segment)))
        return [placed for placed in self._kept[1] if self._is_ours(placed)]

    def _is_ours(self, placed: Placed) -> bool:
        return self.partition.name in (ALL, placed.partition)

    def _holds_ours(self, segment: Segment) -> bool:
        return self.partition.name == ALL or self.partition.name in segment.ordinals

    @property
    def unsettled(self) -> None:
        return None

    async def append(self, commit: Commit, expected: int) -> NoReturn:
        raise LogUnreachable("an archive is read-only")

    async def last(self) -> StoredCommit | None:
        for number in range(len(self._ends) - 1, -1, -1):
            if self._holds_ours(self._archive.index.segments[number]):
                return self.commits_of(number)[-1].commit
        return None

    async def get(self, seq: int) -> StoredCommit | None:
        number = self.segment_at(seq)
        if seq < 1 or number == len(self._ends):
            return None
        return next((placed.commit for placed in self.commits_of(number) if placed.commit.seq == seq), None)

    async def context_end(self) -> int:
        return self._archive.index.last

    @asynccontextmanager
    async def read(self, after: int) -> AsyncIterator[ArchiveReader]:
        yield ArchiveReader(self, after, len(self._ends))


class ArchiveReader:
    """Reads one segment after another. At the end it raises instead of waiting, because nothing more will come."""

    def __init__(self, log: ArchiveLog, after: int, segments: int) -> None:
        self._log = log
        self._after = after
        self._number = log.segment_at(after + 1)
        self._segments = segments
        self._read: list[Placed] = []

    async def next(self) -> list[StoredCommit]:
        while not self._read:
            if self._number == self._segments:
                raise LogUnreachable("the archive ends here")
            commits = self._log.commits_of(self._number)
            self._read = [placed for placed in commits if placed.commit.seq > self._after]
            self._number += 1
        batch, self._read = self._read[:READ_COMMITS_MAX], self._read[READ_COMMITS_MAX:]
        return [placed.commit for placed in batch]

    @property
    def behind(self) -> int:
        return len(self._read) + (self._segments - self._number)
