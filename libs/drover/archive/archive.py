"""Reads and verifies the archive of a context: segments (files of commits), snapshots, and an index of both. `writing`
changes it."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import aclosing
from datetime import datetime
from hashlib import sha256
from typing import Final

import zstandard

from drover.archive.errors import ArchiveMissing, FileDamaged
from drover.archive.in_thread import in_thread
from drover.archive.index import (
    COPY_ADVICE,
    INDEX_NAME,
    ArchivedSnapshot,
    Index,
    Segment,
    Volume,
    last_ordinals,
    load_index,
)
from drover.archive.segment import decoded, load_segment
from drover.archive.store import ArchiveStore, FileMissing
from drover.archive.text import Placed
from drover.archive.volumes import Volumes

Progress = Callable[[int, int], None]
"""Is told the progress of a long task: called with (done, total)."""


def no_progress(done: int, of: int) -> None:
    """Report no progress; the default."""


async def archived_contexts(store: ArchiveStore) -> list[str]:
    """List the contexts that have an archive in this store. Raises ArchiveMissing if there is none."""
    found = [folder for folder in await store.folders() if INDEX_NAME in await store.names(folder)]
    if not found:
        raise ArchiveMissing(store.place(), "none of its folders has an index.json")
    return found


class Archive:
    """The archive of one context, as its index was when it was loaded. Files that are not in the index are ignored:
    they were left behind by a run that was interrupted."""

    def __init__(self, store: ArchiveStore, context: str, index: Index) -> None:
        self.store: Final = store
        self.context: Final = context
        self.index = index
        self._volumes = Volumes(store, context)
        self._verified: set[str] = set()
        """Checksums of segments whose commits this object has checked already. They are not checked again."""
        self._kept: tuple[str, list[Placed]] = ("", [])
        """File name and commits of the segment that was read last, because the next search is often in the same one."""

    @classmethod
    async def open(cls, store: ArchiveStore, context: str) -> Archive:
        """Open the archive of a context. Raises ArchiveMissing or FileDamaged."""
        return cls(store, context, (await load_index(store, context))[0])

    async def reload(self) -> None:
        """Read the index again, because the archive may have grown."""
        self.index = (await load_index(self.store, self.context))[0]

    @property
    def first(self) -> int:
        """The sequence of the first commit that a restore writes. It is the first one that NATS still had after the
        last purge; 1 if nothing was purged."""
        return self.index.bottom_seq

    @property
    def last(self) -> int:
        """The sequence of the last archived commit; 0 if there is none."""
        return self.index.last

    @property
    def last_commit(self) -> str:
        """The id of the last archived commit."""
        return self.index.segments[-1].last_commit if self.index.segments else ""

    @property
    def partitions(self) -> Collection[str]:
        """The partitions that have archived events."""
        return self.index.ordinals().keys()

    # Segments

    async def segment_at(self, number: int) -> Segment:
        """Return a segment by its number; the first one is 0. Raises FileDamaged if the volume that lists it is
        damaged."""
        volume, rest = self._volume_of(number)
        return self.index.segments[rest] if volume is None else (await self._volumes.segments(volume))[rest]

    def _volume_of(self, number: int) -> tuple[Volume | None, int]:
        """Return the volume that lists a segment, and the segment's number in it. If no volume lists it, return None
        and its number in `index.segments`."""
        for volume in self.index.volumes:
            if number < volume.segments:
                return volume, number
            number -= volume.segments
        return None, number

    async def number_of(self, seq: int) -> int:
        """Return the number of the segment that has this position or, if there is none, of the next one after it.
        Beyond the end, return the number of segments."""
        number, segments = 0, self.index.segments
        for volume in self.index.volumes:
            if volume.last >= seq:
                segments = await self._volumes.segments(volume)
                break
            number += volume.segments
        return number + bisect_left(segments, seq, key=lambda segment: segment.last)

    async def segments(self, after: int = 0) -> AsyncGenerator[Segment, None]:
        """Yield the segments with commits after a position, in order."""
        for part in self.index.parts:
            if part.last > after:
                for segment in [part] if isinstance(part, Segment) else await self._volumes.segments(part):
                    if segment.last > after:
                        yield segment

    async def end_before(self, moment: datetime) -> int:
        """Return a sequence up to which all commits are older than a time, without reading commits: the end of the last
        segment before the first one that ends at or after this time. 0 if there is none."""
        after = 0
        for part in self.index.parts:
            if part.last_at >= moment:
                break
            after = part.last
        async with aclosing(self.segments(after)) as segments:
            async for segment in segments:
                if segment.last_at >= moment:
                    break
                after = segment.last
        return after

    async def last_number(self, partition: str) -> int | None:
        """Return the number of the last segment that has events of a partition. None if there is none."""
        number = self.index.count
        for part in reversed(self.index.parts):
            segments = [part]
            if isinstance(part, Volume) and partition in part.ordinals:
                segments = [*await self._volumes.segments(part)]
            for one in reversed(segments):
                number -= one.segments if isinstance(one, Volume) else 1
                if partition in one.ordinals:
                    return number
        return None

    # Commits

    async def commits(self, after: int = 0) -> AsyncGenerator[Placed, None]:
        """Read the commits after a position, in order, and verify them. Raises FileDamaged if a segment that it reads
        is damaged.

        Use it with `aclosing` if you may not read it to the end.
        """
        position = after
        while (number := await self.number_of(position + 1)) < self.index.count:
            segment = await self.segment_at(number)
            try:
                data = await load_segment(self.store, self.context, segment)
            except FileDamaged:
                await self.reload()
                if await self.has(segment):
                    raise
                continue  # a writer has replaced it by a larger one
            known = await self._known(number)
            async with aclosing(in_thread(decoded(self.store, self.index, segment, data, known))) as found:
                async for placed in found:
                    if placed.commit.seq > position:
                        position = placed.commit.seq
                        yield placed
            self._verified.add(segment.sha256)

    async def has(self, segment: Segment) -> bool:
        """Whether the index still lists exactly this segment."""
        number = await self.number_of(segment.first)
        return number < self.index.count and await self.segment_at(number) == segment

    async def get(self, seq: int) -> Placed | None:
        """Return the commit at a position, or None if the archive does not have it. Raises FileDamaged."""
        number = await self.number_of(seq)
        if seq < 1 or number == self.index.count:
            return None
        first = (await self.segment_at(number)).first
        return (await self.segment(number))[seq - first]  # a segment has every position of its range

    async def segment(self, number: int) -> list[Placed]:
        """Return all commits of a segment. Raises FileDamaged."""
        segment = await self.segment_at(number)
        if self._kept[0] != segment.file:
            self._kept = ("", [])  # drop the old segment before the next one is read, so that only one is in memory
            data = await load_segment(self.store, self.context, segment)
            commits = decoded(self.store, self.index, segment, data, await self._known(number))
            self._kept = (segment.file, await asyncio.to_thread(list, commits))
            self._verified.add(segment.sha256)
        return self._kept[1]

    async def previous(self, seq: int) -> Mapping[str, int]:
        """Return the sequence of each partition's last commit at or before `seq`, by partition."""
        found: dict[str, int] = {}
        number = self.index.count
        for part in reversed(self.index.parts):
            segments = [part]
            if isinstance(part, Volume) and part.first <= seq and not (part.last <= seq and part.lasts):
                segments = [*await self._volumes.segments(part)]
            for one in reversed(segments):
                number -= one.segments if isinstance(one, Volume) else 1
                if len(found) == len(self.index.partitions):
                    return found
                if one.first <= seq:
                    found = {**await self._lasts(one, number, seq), **found}
        return found

    async def _lasts(self, part: Volume | Segment, number: int, seq: int) -> dict[str, int]:
        if part.last <= seq and part.lasts:
            return part.lasts
        commits = await self.segment(number)
        return {placed.partition: placed.commit.seq for placed in commits if placed.commit.seq <= seq}

    async def _known(self, number: int) -> dict[str, int] | None:
        """Return the number of each partition's last event before a segment, by partition. None: this object has
        verified the segment already."""
        if (await self.segment_at(number)).sha256 in self._verified:
            return None
        volume, rest = self._volume_of(number)
        if volume is None:
            return self.index.ordinals(rest)
        before = self.index.volumes[: self.index.volumes.index(volume)]
        return last_ordinals([*before, *(await self._volumes.segments(volume))[:rest]])

    async def verify(self, progress: Progress = no_progress) -> list[FileDamaged]:
        """Check every byte of every segment and snapshot against index and checksums. Returns one error for each
        damaged file."""
        found: list[FileDamaged] = []
        number = done = 0
        for part in self.index.parts:
            try:
                segments = [part] if isinstance(part, Segment) else await self._volumes.segments(part)
            except FileDamaged as damage:
                assert isinstance(part, Volume), "only volumes were read"
                found.append(damage)
                segments, number, done = [], number + part.segments, done + part.events
            for segment in segments:
                try:
                    await self.segment(number)
                except FileDamaged as damage:
                    found.append(damage)
                number += 1
                done += segment.events
                progress(done, self.index.events)
        for info in self.index.snapshots:
            try:
                async for _ in self.read_snapshot(info):
                    pass
            except FileDamaged as damage:
                found.append(damage)
        return found

    # Snapshots

    def snapshots(self, partition: str | None = None) -> list[ArchivedSnapshot]:
        """List the archived snapshots, newest first."""
        ours = [info for info in self.index.snapshots if partition in (None, info.partition)]
        return sorted(ours, key=lambda info: info.seq, reverse=True)

    async def read_snapshot(self, info: ArchivedSnapshot) -> AsyncGenerator[bytes, None]:
        """Read a snapshot in chunks. Raises FileDamaged, at the latest after the last chunk."""
        name = f"{self.context}/{info.file}"
        digest, size = sha256(), 0
        unpack = zstandard.ZstdDecompressor().decompressobj()
        try:
            async for chunk in self.store.read_chunks(name):
                digest.update(chunk)
                size += len(chunk)
                if data := unpack.decompress(chunk):
                    yield data
        except FileMissing:
            raise FileDamaged(self.store.place(name), "it is missing", COPY_ADVICE) from None
        except zstandard.ZstdError as error:
            raise FileDamaged(self.store.place(name), str(error), COPY_ADVICE) from error
        if (size, digest.hexdigest()) != (info.bytes, info.sha256):
            reason = "its checksum does not match the index: its bytes were changed"
            raise FileDamaged(self.store.place(name), reason, COPY_ADVICE)
