"""The archive of one context as the archiver uses it: adds commits and snapshots, and reads back what was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drover.archive.archive import Archive
from drover.archive.creating import Archived, create
from drover.archive.snapshots import copy_snapshot
from drover.archive.store import ArchiveStore
from drover.archive.writing import record_bottom
from drover.archiver.newest_snapshots import NewestSnapshot
from drover.eventlog.log import EventLog


class ArchiveKeeper:
    """Writes and reads the archive of one context. It remembers which segments were read back in this round and the one
    before, so that each is read only once."""

    def __init__(self, store: ArchiveStore, context: str) -> None:
        self._store = store
        self._context = context
        self._opened: Archive | None = None
        self._is_swept = False
        """Whether the last `archive` of this process succeeded. If not, the next one removes files that an interrupted
        run left behind."""
        self._checked: set[str] = set()
        self._checked_before: set[str] = set()
        """The checksums of the segments that were read back in the round before; those of this round are in
        `_checked`."""

    async def archive(self, logs: Sequence[EventLog]) -> Archived:
        """Begin a round: copy new commits into the archive."""
        was_swept, self._is_swept = self._is_swept, False
        archived = await create(self._store, logs, sweep=not was_swept)
        self._is_swept = True
        self._opened = None
        self._checked_before, self._checked = self._checked, set()
        return archived

    async def lasts(self) -> Mapping[str, int]:
        """Return, for each partition, the sequence of its newest commit in the archive."""
        archive = await self._open()
        return await archive.previous(archive.last)

    async def check(self, first: int, below: int) -> None:
        """Read the commits from `first` on and below `below` back from the archive and verify them. Raises
        FileDamaged."""
        archive = await self._open()
        for number in range(await archive.number_of(first), await archive.number_of(below - 1) + 1):
            checksum = (await archive.segment_at(number)).sha256
            if checksum not in self._checked | self._checked_before:
                await archive.segment(number)
            self._checked.add(checksum)

    async def snapshot(self, partition: str, version: str) -> int:
        """Return the last commit in the newest archived snapshot; 0 if there is none."""
        archive = await self._open()
        return next((one.seq for one in archive.snapshots(partition) if one.version == version), 0)

    async def _open(self) -> Archive:
        """Open the archive, once in a round: its index is large."""
        if self._opened is None:
            self._opened = await Archive.open(self._store, self._context)
        return self._opened

    async def save_snapshot(self, newest: NewestSnapshot) -> None:
        """Copy a snapshot into the archive and read it back."""
        await copy_snapshot(self._store, newest.info, newest.chunks)

    async def record_bottom(self, partition: str, bottom: int) -> None:
        """Record the sequence of the partition's first commit that will stay in NATS. Call it before the purge."""
        await record_bottom(self._store, self._context, {partition: bottom})
