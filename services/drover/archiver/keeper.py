"""The archive of one context as the archiver uses it: adds commits and snapshots, and reads back what was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drover.archive.archive import Archive
from drover.archive.creating import Archived, create
from drover.archive.snapshots import archive_snapshot
from drover.archive.store import ArchiveStore
from drover.archive.writing import record_bottom
from drover.archiver.newest_snapshots import NewestSnapshot
from drover.eventlog.log import EventLog


class ArchiveKeeper:
    """Remembers which segments it has read back, so that each is read once."""

    def __init__(self, store: ArchiveStore, context: str) -> None:
        self._store = store
        self._context = context
        self._checked: dict[str, Mapping[str, int]] = {}
        """By checksum of a segment that was read back: by partition, the sequence of its last commit in the segment."""

    async def archive(self, logs: Sequence[EventLog]) -> Archived:
        """Copy new commits into the archive."""
        return await create(self._store, logs)

    async def check(self, after: int) -> dict[str, int]:
        """Read back and verify all segments with commits after a position. Return, by partition, the sequence of its
        newest commit in them. Raises FileDamaged."""
        archive = await Archive.open(self._store, self._context)
        before, self._checked = self._checked, {}
        found: dict[str, int] = {}
        for number, segment in enumerate(archive.index.segments):
            if segment.last > after:
                lasts = before.get(segment.sha256)
                if lasts is None:
                    lasts = {placed.partition: placed.commit.seq for placed in await archive.segment(number)}
                self._checked[segment.sha256] = lasts
                found |= lasts
        return found

    async def snapshot(self, partition: str, version: str) -> int:
        """Return the sequence of the last commit in the newest archived snapshot of this version; 0 if there is
        none."""
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
        """Record the sequence of the partition's first commit that will stay in NATS. Call it before the purge."""
        await record_bottom(self._store, self._context, {partition: bottom})
