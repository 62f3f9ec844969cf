"""The archive of one context as the archiver uses it: adds commits and snapshots, and reads back what was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from drover.archive.archive import Archive
from drover.archive.creating import Archived, create
from drover.archive.index import Segment
from drover.archive.snapshots import archive_snapshot
from drover.archive.store import ArchiveStore
from drover.archive.writing import record_bottom
from drover.archiver.newest_snapshots import NewestSnapshot
from drover.eventlog.log import EventLog


class _Checked(msgspec.Struct, frozen=True):
    """The segments that were read back, and will not be written again."""

    since: int
    last: Segment
    lasts: Mapping[str, int]
    """By partition, the newest commit in the segments from the one after `since` to `last`."""


class ArchiveKeeper:
    """Remembers up to where it has read the archive back, so that each segment is read once, and a round takes no
    longer when the archive is longer."""

    def __init__(self, store: ArchiveStore, context: str) -> None:
        self._store = store
        self._context = context
        self._checked: _Checked | None = None
        self._read: tuple[str, Mapping[str, int]] = ("", {})
        """The checksum of the last segment that was read back, and its last commit of each partition."""
        self._sweep = True

    async def archive(self, logs: Sequence[EventLog]) -> Archived:
        """Copy new commits into the archive. The first run, and the one after a failure, also look for what a writer
        left behind."""
        sweep, self._sweep = self._sweep, True
        made = await create(self._store, logs, sweep=sweep)
        self._sweep = False
        return made

    async def check(self, after: int) -> dict[str, int]:
        """Read all segments beyond a position back and verify them. Return by partition the newest commit in them.
        Raises FileDamaged."""
        archive = await Archive.open(self._store, self._context)
        checked = self._checked
        if checked is None or checked.since > after or not await archive.has(checked.last):
            checked = None
        since, start = (after, after) if checked is None else (checked.since, checked.last.last)
        found = {} if checked is None else dict(checked.lasts)
        for number in range(await archive.number_of(start + 1), archive.index.count):
            segment = await archive.segment_at(number)
            found |= await self._lasts_of(archive, segment, number)
            if segment.is_full:
                self._checked = _Checked(since, segment, dict(found))
        return found

    async def _lasts_of(self, archive: Archive, segment: Segment, number: int) -> Mapping[str, int]:
        """Read a segment back, unless it was the last one that was read; return its last commit of each partition."""
        if self._read[0] != segment.sha256:
            lasts = {placed.partition: placed.commit.seq for placed in await archive.segment(number)}
            self._read = (segment.sha256, lasts)
        return self._read[1]

    async def snapshot(self, partition: str, version: str) -> int:
        """Return the last commit in the newest archived snapshot; 0 if there is none."""
        archive = await Archive.open(self._store, self._context)
        return next((one.seq for one in archive.snapshots(partition) if one.version == version), 0)

    async def save_snapshot(self, newest: NewestSnapshot) -> None:
        """Copy a snapshot into the archive and read it back."""
        info = newest.info
        await archive_snapshot(
            self._store,
            info.partition,
            version=info.version,
            seq=info.seq,
            commit=info.commit,
            saved_at=info.saved_at,
            chunks=newest.chunks,
        )

    async def record_bottom(self, partition: str, bottom: int) -> None:
        """Record the lowest sequence that the log of a partition will still have. Call it before the purge."""
        await record_bottom(self._store, self._context, {partition: bottom})
