"""Keeps snapshots of states in the archive: the newest ones, without which nothing may be purged, and one of each
day."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

import msgspec

from drover.archive.archive import Archive
from drover.archive.errors import ArchiveMissing, FileDamaged
from drover.archive.index import ArchivedSnapshot
from drover.archive.store import ArchiveStore
from drover.archive.writing import writing
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import CHUNK_BYTES, SnapshotDamaged, SnapshotInfo, SnapshotOutdated, SnapshotStore
from drover.writer.fold import FoldImage

GENERATIONS: Final = 2
"""How many of the newest snapshots of each partition and version stay, besides the last one of each day."""
PAST: Final = "past-"
"""The prefix of the version of a state that the time machine saved. Such a state does not contain the remembered
command ids, so a writer must not start from it."""


async def archive_snapshot(
    store: ArchiveStore,
    partition: Partition,
    *,
    version: str,
    seq: int,
    commit: str,
    saved_at: datetime,
    chunks: AsyncIterable[bytes],
) -> ArchivedSnapshot:
    """Write a snapshot into the archive of a context, read it back, and delete snapshots that are no longer needed.

    Raises FileDamaged if it could not be read back; then the archive does not list it. Raises ArchiveMissing if the
    context has no archive yet.
    """
    async with writing(store, partition.context) as opened:
        made = await opened.add_snapshot(
            partition=partition.name, version=version, seq=seq, commit=commit, saved_at=saved_at, chunks=chunks
        )
        try:
            async for _ in Archive(store, partition.context, opened.index).read_snapshot(made):
                pass
        except FileDamaged:
            await opened.keep_snapshots([one for one in opened.index.snapshots if one != made])
            raise
        await opened.keep_snapshots(needed(opened.index.snapshots))
        return made


async def copy_snapshot(store: ArchiveStore, info: SnapshotInfo, chunks: AsyncIterable[bytes]) -> ArchivedSnapshot:
    """Archive a snapshot that NATS has. See `archive_snapshot`."""
    return await archive_snapshot(
        store,
        info.partition,
        version=info.version,
        seq=info.seq,
        commit=info.commit,
        saved_at=info.saved_at,
        chunks=chunks,
    )


def needed(snapshots: Sequence[ArchivedSnapshot]) -> list[ArchivedSnapshot]:
    """Return the snapshots that stay: the newest ones of each partition and version, and the last one of each day."""
    every = sorted(snapshots, key=lambda one: one.seq)
    last_of_days = {(one.partition, one.version, one.saved_at.date()): one for one in every}
    kept = {one.file for one in last_of_days.values()}
    same: dict[tuple[str, str], list[ArchivedSnapshot]] = {}
    for one in every:
        same.setdefault((one.partition, one.version), []).append(one)
    kept |= {newest.file for ones in same.values() for newest in ones[-GENERATIONS:]}
    return [one for one in every if one.file in kept]


async def put_snapshots_back(archive: Archive, store: SnapshotStore) -> None:
    """Copy the newest archived snapshot of each partition and version into a store, for the writers of a restored log.

    A snapshot from before the bottom is not copied, because the restored log lacks the commits between it and the
    bottom. If the store has a newer snapshot already, that one stays.
    """
    newest: dict[tuple[str, str], ArchivedSnapshot] = {}
    for one in archive.snapshots():
        if not one.version.startswith(PAST):
            newest.setdefault((one.partition, one.version), one)
    for one in newest.values():
        if archive.index.bottom.get(one.partition, 1) - 1 <= one.seq <= archive.last:
            with suppress(SnapshotOutdated):
                await store.save(
                    Partition(archive.context, one.partition),
                    one.version,
                    _small(archive.read_snapshot(one)),
                    seq=one.seq,
                    commit=one.commit,
                )


async def _small(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """Divide chunks so that each fits into one NATS message."""
    async for chunk in chunks:
        for begin in range(0, len(chunk), CHUNK_BYTES):
            yield chunk[begin : begin + CHUNK_BYTES]


class ArchivedSnapshots:
    """The snapshots of an archive. They serve writers that find none in NATS (it is a `SnapshotSource`), and the time
    machine."""

    def __init__(self, store: ArchiveStore) -> None:
        self._store = store

    async def infos(self, partition: Partition) -> list[SnapshotInfo]:
        """Return the snapshots of all versions, the newest first. Empty if there is no archive. Snapshots of a later
        position than the last archived commit are left out, because a log that was restored from this archive ends
        before them."""
        try:
            archive = await Archive.open(self._store, partition.context)
        except ArchiveMissing:
            return []
        return [_info(partition, one) for one in archive.snapshots(partition.name) if one.seq <= archive.last]

    async def read(self, info: SnapshotInfo) -> AsyncGenerator[bytes, None]:
        """Yield the snapshot in chunks. Raises SnapshotDamaged."""
        archive = await Archive.open(self._store, info.partition.context)
        try:
            for one in archive.snapshots(info.partition.name):
                if one.file == info.id:
                    async for chunk in archive.read_snapshot(one):
                        yield chunk
                    return
        except FileDamaged as error:
            raise SnapshotDamaged(str(error)) from error
        raise SnapshotDamaged("it is gone")

    async def put(self, partition: Partition, version: str, seq: int, at: datetime, image: bytes) -> None:
        """Store the state of a past moment, for the time machine. Storing the same one again does no harm."""
        commit = msgspec.msgpack.decode(image, type=FoldImage).commit
        await archive_snapshot(
            self._store, partition, version=PAST + version, seq=seq, commit=commit, saved_at=at, chunks=_one(image)
        )

    async def nearest_before(self, partition: Partition, version: str, at: datetime) -> bytes | None:
        """Return the newest archived state of this version at or before a time, encoded. None: there is none."""
        for info in await self.infos(partition):
            if info.version in (version, PAST + version) and info.saved_at <= at:
                image = b"".join([chunk async for chunk in self.read(info)])
                # `saved_at` comes from a clock that may have been behind the time of the events, so compare that, too.
                if msgspec.msgpack.decode(image, type=FoldImage).at <= at:
                    return image
        return None


def _info(partition: Partition, one: ArchivedSnapshot) -> SnapshotInfo:
    return SnapshotInfo(
        partition=partition,
        version=one.version,
        id=one.file,
        seq=one.seq,
        commit=one.commit,
        bytes=one.image_bytes,
        saved_at=one.saved_at,
        chunks=1,
        sha256=one.sha256,
    )


async def _one(image: bytes) -> AsyncGenerator[bytes, None]:
    yield image
