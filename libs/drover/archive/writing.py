"""Changes the archive of a context: adds segments and snapshots, records the bottom of the log. Only one process at a
time may write.

A folder is locked. A bucket cannot be locked, so each writer first saves the index with a higher generation. From then
on an earlier writer fails to save the index, because it has changed. File names contain the generation, so an earlier
writer that goes on neither deletes nor overwrites files of a later one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from hashlib import sha256
from typing import Final

import zstandard

from drover.archive.errors import ArchiveIncomplete, ArchiveMissing, FileDamaged, ForeignArchive
from drover.archive.index import (
    FORM,
    INDEX_NAME,
    SNAPSHOTS,
    VOLUME_SEGMENTS,
    ArchivedSnapshot,
    Index,
    Segment,
    encode_index,
    first_of_name,
    is_segment_name,
    is_volume_name,
    last_of_name,
    load_index,
    snapshot_name,
    volume_number,
)
from drover.archive.store import ArchiveStore
from drover.archive.volumes import make_volume

SNAPSHOT_LEVEL: Final = 6


class Writing:
    """The archive of a context, opened by the only process that may change it."""

    def __init__(self, store: ArchiveStore, index: Index, version: str | None) -> None:
        self.store: Final = store
        self.index: Final = index
        self._version = version

    def name(self, file: str) -> str:
        return f"{self.index.context}/{file}"

    async def save(self) -> None:
        """Save the index in one step, in the newest form. Raises ArchiveBusy if another writer has taken over."""
        while len(self.index.segments) > VOLUME_SEGMENTS:
            await self._seal()
        self.index.form = FORM
        self._version = await self.store.replace(self.name(INDEX_NAME), encode_index(self.index), self._version)

    async def _seal(self) -> None:
        """Move the oldest segments into a new volume. The last segment stays: it may still be replaced."""
        index = self.index
        oldest = index.segments[:VOLUME_SEGMENTS]
        volume, data = make_volume(index.context, len(index.volumes) + 1, index.generation, oldest)
        await self.store.write(self.name(volume.file), data)
        index.segments, index.volumes = index.segments[VOLUME_SEGMENTS:], [*index.volumes, volume]

    async def add_segment(self, kept: int, made: Segment, data: bytes) -> None:
        """Write a new segment in place of all segments after the first `kept` ones that are in no volume. Then delete
        the replaced files."""
        await self.store.write(self.name(made.file), data)
        replaced = self.index.segments[kept:]
        self.index.segments = [*self.index.segments[:kept], made]
        await self.save()
        for segment in replaced:
            await self.store.delete(self.name(segment.file))

    async def add_snapshot(
        self, *, partition: str, version: str, seq: int, commit: str, saved_at: datetime, chunks: AsyncIterable[bytes]
    ) -> ArchivedSnapshot:
        """Add a snapshot of the state after the commit at `seq`, whose id is `commit`. If the archive has a snapshot of
        the same state, return that one. `saved_at`: not before the time of the state."""
        for info in self.index.snapshots:
            if (info.partition, info.version, info.seq, info.commit) == (partition, version, seq, commit):
                return info
        file = snapshot_name(partition, version, seq, self.index.generation)
        packed = _Packed(chunks)
        await self.store.write_chunks(self.name(file), packed.chunks())
        info = ArchivedSnapshot(
            partition=partition,
            version=version,
            seq=seq,
            commit=commit,
            saved_at=saved_at,
            file=file,
            bytes=packed.bytes,
            sha256=packed.digest.hexdigest(),
            image_bytes=packed.image_bytes,
        )
        self.index.snapshots = [*self.index.snapshots, info]
        await self.save()
        return info

    async def keep_snapshots(self, kept: Sequence[ArchivedSnapshot]) -> None:
        """Remove all snapshots except `kept` from the index, then delete their files."""
        gone = [one for one in self.index.snapshots if one not in kept]
        if gone:
            self.index.snapshots = list(kept)
            await self.save()
        for one in gone:
            await self.store.delete(self.name(one.file))

    async def record_bottom(self, bottom: Mapping[str, int]) -> None:
        """Record the bottom of partitions. `bottom`: by partition, the sequence of the first commit that will stay in
        NATS. Call it before the purge. A restore writes nothing below the lowest bottom.

        Raises ArchiveIncomplete if the archive does not have all commits below a bottom.
        """
        index = self.index
        if (missing := max(bottom.values(), default=0) - 1) > index.last:
            raise ArchiveIncomplete(index.context, index.last, missing)
        if bottom.items() - index.bottom.items():
            index.bottom = {**index.bottom, **bottom}
            await self.save()

    async def sweep(self, end: int) -> None:
        """Delete the files of a writer that was killed: unfinished ones, and finished ones that it did not add to the
        index.

        If somebody has restored an older index, a file that it does not list may be the only copy of its commits. So a
        segment with commits after those of the index is not deleted. If it even has commits after `end`, the last
        commit of the log, this raises ForeignArchive.
        """
        index = self.index
        listed = {segment.file for segment in index.segments} | {info.file for info in index.snapshots}
        listed |= {volume.file for volume in index.volumes}
        there = await self.store.names(index.context)
        # A writer only adds segments after those in volumes, so no volume needs to be read.
        sealed = index.last_before(0)
        unlisted = [file for file in there if is_segment_name(file) and first_of_name(file) > sealed]
        unlisted = [file for file in unlisted if file not in listed]
        for file in unlisted:
            if (last := last_of_name(file)) > end:
                reason = f"the log ends at {end}, but {file}, which is not in the index, has later commits"
                raise ForeignArchive(index.context, last, reason)
        snapshots = [f"{SNAPSHOTS}/{file}" for file in await self.store.names(f"{index.context}/{SNAPSHOTS}")]
        unlisted = [file for file in unlisted if last_of_name(file) <= index.last]
        # The index lists another file for the volume of this number, so nothing needs this one.
        volumes = [file for file in there if is_volume_name(file) and file not in listed]
        unlisted += [file for file in volumes if volume_number(file) <= len(index.volumes)]
        # Unfinished files begin with a dot.
        unlisted += [file for file in there if file.startswith(".")]
        unlisted += [file for file in snapshots if file not in listed]
        for file in unlisted:
            await self.store.delete(self.name(file))


class _Packed:
    """Compresses chunks, and computes size and checksum of the result."""

    def __init__(self, chunks: AsyncIterable[bytes]) -> None:
        self.image_bytes = 0
        """The size of the chunks before they were compressed."""
        self.bytes = 0
        self.digest = sha256()
        self._chunks = chunks

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        compress = zstandard.ZstdCompressor(level=SNAPSHOT_LEVEL, write_checksum=True).compressobj()
        async for chunk in self._chunks:
            self.image_bytes += len(chunk)
            if data := compress.compress(chunk):
                yield self._counted(data)
        yield self._counted(compress.flush())

    def _counted(self, data: bytes) -> bytes:
        self.bytes += len(data)
        self.digest.update(data)
        return data


@asynccontextmanager
async def writing(store: ArchiveStore, context: str, partitions: list[str] | None = None) -> AsyncIterator[Writing]:
    """Open the archive of a context for writing. Raises ArchiveBusy if another process writes to it. After opening it,
    call `sweep` to delete files that a crash left behind.

    `partitions`: the names of the log's partitions; a new archive is begun with them if there is none. None: raise
    ArchiveMissing instead.
    """
    async with store.locked(context):
        try:
            index, version = await load_index(store, context)
            opened = Writing(store, index, version)
            if store.shared:
                index.generation += 1
                await opened.save()
        except ArchiveMissing:
            await _refuse_a_lost_index(store, context)
            if partitions is None:
                raise
            opened = Writing(store, Index(context, partitions, generation=1 if store.shared else 0), None)
            # Save the index before the first segment, so that segments without an index always mean a lost index.
            await opened.save()
        yield opened


async def _refuse_a_lost_index(store: ArchiveStore, context: str) -> None:
    """Refuse a folder that has segments but no index, instead of starting a new index: its segments may be the only
    copy."""
    if any(is_segment_name(file) for file in await store.names(context)):
        advice = "Restore it from a copy of the archive, or archive into another directory."
        raise FileDamaged(store.place(f"{context}/{INDEX_NAME}"), "it is missing, but there are segments", advice)


async def record_bottom(store: ArchiveStore, context: str, bottom: Mapping[str, int]) -> None:
    """See `Writing.record_bottom`."""
    async with writing(store, context) as opened:
        await opened.record_bottom(bottom)
