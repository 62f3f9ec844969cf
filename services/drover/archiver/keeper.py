"""The archive of one context as the archiver uses it: adds commits and snapshots, and reads back what was written."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from drover.archive.archive import Archive
from drover.archive.creating import Archived, create
from drover.archive.index import Segment
from drover.archive.snapshots import archive_snapshot, newest_snapshot
from drover.archiver.newest_snapshots import NewestSnapshot
from drover.eventlog.log import EventLog


class FolderKeeper:
    """Remembers which segments it has read back, so that each is read once."""

    def __init__(self, directory: Path, context: str) -> None:
        self._directory = directory
        self._context = context
        self._checked: dict[str, Mapping[str, int]] = {}
        """By checksum of a segment that was read back, the last commit of each partition in it."""

    async def archive(self, logs: Sequence[EventLog]) -> Archived:
        """Copy new commits into the archive."""
        return await create(self._directory, logs)

    async def check(self, after: int) -> dict[str, int]:
        """Read all segments beyond a position back and verify them. Return by partition the newest commit in them.
        Raises FileDamaged."""
        archive = await asyncio.to_thread(Archive, self._directory, self._context)
        before, self._checked = self._checked, {}
        found: dict[str, int] = {}
        for segment in archive.index.segments:
            if segment.last > after:
                lasts = before.get(segment.sha256)
                if lasts is None:
                    lasts = await asyncio.to_thread(_lasts, archive, segment)
                self._checked[segment.sha256] = lasts
                found |= lasts
        return found

    async def snapshot(self, partition: str, version: str) -> int:
        """Return the last commit in the newest archived snapshot; 0 if there is none."""
        archive = await asyncio.to_thread(Archive, self._directory, self._context)
        newest = newest_snapshot(archive.index.snapshots, partition, version)
        return newest.seq if newest else 0

    async def save_snapshot(self, partition: str, newest: NewestSnapshot) -> None:
        """Copy a snapshot into the archive and read it back."""
        await archive_snapshot(
            self._directory,
            self._context,
            partition=partition,
            version=newest.version,
            seq=newest.seq,
            chunks=newest.chunks,
        )


def _lasts(archive: Archive, segment: Segment) -> Mapping[str, int]:
    return {placed.partition: placed.commit.seq for placed in archive.commits_of(segment)}
