"""Makes an archive look like a read-only log, so that all code that reads a log can read an archive."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NoReturn

from drover.archive.archive import Archive
from drover.archive.errors import ArchiveMissing
from drover.archive.text import Placed
from drover.eventlog.log import ALL, Commit, LogUnreachable, Partition, StoredCommit

READ_COMMITS_MAX: Final = 256


class ArchiveLog:
    """The archived log of one partition, or of all (`*`)."""

    def __init__(self, archive: Archive, partition: Partition) -> None:
        names = archive.index.partitions
        if partition.name not in (ALL, *names):
            place = archive.store.place(archive.context)
            raise ArchiveMissing(place, f"no partition {partition.name}, only {', '.join(names)}")
        self.partition = partition
        self.archive = archive

    async def commits_of(self, number: int) -> list[Placed]:
        """Return the commits of this partition in a segment. Raises FileDamaged."""
        return [placed for placed in await self.archive.segment(number) if self._is_ours(placed)]

    def _is_ours(self, placed: Placed) -> bool:
        return self.partition.name in (ALL, placed.partition)

    @property
    def unsettled(self) -> None:
        return None

    async def append(self, commit: Commit, expected: int) -> NoReturn:
        raise LogUnreachable("an archive is read-only")

    async def last(self) -> StoredCommit | None:
        name, end = self.partition.name, self.archive.index.count - 1
        number = end if name == ALL else await self.archive.last_number(name)
        return None if number is None or number < 0 else (await self.commits_of(number))[-1].commit

    async def get(self, seq: int) -> StoredCommit | None:
        found = await self.archive.get(seq)
        return found.commit if found is not None and self._is_ours(found) else None

    async def context_end(self) -> int:
        return self.archive.last

    @asynccontextmanager
    async def read(self, after: int) -> AsyncIterator[ArchiveReader]:
        yield ArchiveReader(self, after, await self.archive.number_of(after + 1), self.archive.index.count)


class ArchiveReader:
    """Reads one segment after another. At the end of the archive it raises instead of waiting, because nothing more
    will come."""

    def __init__(self, log: ArchiveLog, after: int, number: int, segments: int) -> None:
        """`number`: of the first segment to read; `segments`: how many there are."""
        self._log = log
        self._after = after
        self._number = number
        self._segments = segments
        self._read: list[Placed] = []

    async def next(self) -> list[StoredCommit]:
        while not self._read:
            if self._number == self._segments:
                raise LogUnreachable("the archive ends here")
            commits = await self._log.commits_of(self._number)
            self._read = [placed for placed in commits if placed.commit.seq > self._after]
            self._number += 1
        batch, self._read = self._read[:READ_COMMITS_MAX], self._read[READ_COMMITS_MAX:]
        return [placed.commit for placed in batch]

    @property
    def behind(self) -> int:
        return len(self._read) + (self._segments - self._number)
