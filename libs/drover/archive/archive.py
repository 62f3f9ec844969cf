"""Reads and verifies the archive of a context: segments (files of commits), snapshots, and an index of both. `writing`
changes it."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import aclosing
from hashlib import sha256
from typing import Final

import zstandard

from drover.archive.errors import ArchiveMissing, FileDamaged
from drover.archive.in_thread import in_thread
from drover.archive.index import COPY_ADVICE, INDEX_NAME, ArchivedSnapshot, Index, load_index
from drover.archive.segment import decoded, load_segment
from drover.archive.store import ArchiveStore, FileMissing
from drover.archive.text import Placed

Progress = Callable[[int, int], None]
"""Called with (done, total)."""


def no_progress(done: int, of: int) -> None:
    """Report no progress; the default."""


async def archived_contexts(store: ArchiveStore) -> list[str]:
    """List the contexts that have an archive in this store. Raises ArchiveMissing if there is none."""
    found = [folder for folder in await store.folders() if INDEX_NAME in await store.names(folder)]
    if not found:
        raise ArchiveMissing(store.place(), "none of its folders has an index.json")
    return found


class Archive:
    """The archive of one context, as its index was when it was loaded. Files that are not in the index are ignored: an
    interrupted run left them behind."""

    def __init__(self, store: ArchiveStore, context: str, index: Index) -> None:
        self.store: Final = store
        self.context: Final = context
        self.index = index
        self._ends: list[int] = []
        """The sequence of the last commit of each segment, for `number_of`."""
        self._verified: set[str] = set()
        """Checksums of segments whose commits this object has checked. Another read need not check them again."""
        self._ordinals: tuple[int, dict[str, int]] = (0, {})
        """How many segments were counted, and by partition the number of the last event in these segments."""
        self._kept: tuple[str, list[Placed]] = ("", [])
        """File name and commits of the segment that was read last: the next search is often in the same one."""

    @classmethod
    async def open(cls, store: ArchiveStore, context: str) -> Archive:
        """Open the archive of a context. Raises ArchiveMissing or FileDamaged."""
        return cls(store, context, (await load_index(store, context))[0])

    async def reload(self) -> None:
        """Read the index again: it may have grown."""
        self.index = (await load_index(self.store, self.context))[0]
        self._ordinals = (0, {})

    @property
    def first(self) -> int:
        """The sequence of the first commit that a restore writes: the lowest one that NATS still had after the last
        purge. 1 if nothing was purged."""
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

    # Commits

    async def commits(self, after: int = 0) -> AsyncGenerator[Placed, None]:
        """Read the commits after a position, in order, and verify them. Raises FileDamaged for a segment that it needs.

        Use it with `aclosing` if you may not read it to the end.
        """
        position = after
        while (number := self.number_of(position + 1)) < len(self.index.segments):
            segment = self.index.segments[number]
            try:
                data = await load_segment(self.store, self.context, segment)
            except FileDamaged:
                await self.reload()
                if segment in self.index.segments:
                    raise
                continue  # a writer has replaced it by a larger one
            async with aclosing(
                in_thread(decoded(self.store, self.index, segment, data, self._known(number)))
            ) as found:
                async for placed in found:
                    if placed.commit.seq > position:
                        position = placed.commit.seq
                        yield placed
            self._verified.add(segment.sha256)

    async def get(self, seq: int) -> Placed | None:
        """Return the commit at a position, or None if the archive does not have it. Raises FileDamaged."""
        number = self.number_of(seq)
        if seq < 1 or number == len(self.index.segments):
            return None
        first = self.index.segments[number].first
        return (await self.segment(number))[seq - first]  # a segment has every position of its range

    async def segment(self, number: int) -> list[Placed]:
        """Return all commits of a segment. Raises FileDamaged."""
        segment = self.index.segments[number]
        if self._kept[0] != segment.file:
            self._kept = ("", [])  # before the next one is read, so that only one is in memory
            data = await load_segment(self.store, self.context, segment)
            commits = decoded(self.store, self.index, segment, data, self._known(number))
            self._kept = (segment.file, await asyncio.to_thread(list, commits))
            self._verified.add(segment.sha256)
        return self._kept[1]

    async def previous(self, seq: int) -> Mapping[str, int]:
        """Return, by partition, the sequence of its last commit up to `seq`."""
        found: dict[str, int] = {}
        for number in range(min(self.number_of(seq), len(self.index.segments) - 1), -1, -1):
            if len(found) == len(self.index.partitions):
                break
            if self.index.segments[number].first <= seq:
                found = {**await self._lasts(number, seq), **found}
        return found

    async def _lasts(self, number: int, seq: int) -> dict[str, int]:
        segment = self.index.segments[number]
        if segment.last <= seq and segment.lasts:
            return segment.lasts
        commits = await self.segment(number)
        return {placed.partition: placed.commit.seq for placed in commits if placed.commit.seq <= seq}

    def number_of(self, seq: int) -> int:
        """Return the number of the segment that has this position, or the next one after it. Beyond the end, return the
        number of segments."""
        segments = self.index.segments
        if len(self._ends) != len(segments) or (segments and self._ends[-1] != segments[-1].last):
            self._ends = [segment.last for segment in segments]
        return bisect_left(self._ends, seq)

    def _known(self, number: int) -> dict[str, int] | None:
        """Return, by partition, the number of the last event before a segment. None: this object has checked the
        segment before."""
        if self.index.segments[number].sha256 in self._verified:
            return None
        before, known = self._ordinals if self._ordinals[0] <= number else (0, {})
        for segment in self.index.segments[before:number]:
            known = known | {name: last for name, (_, last) in segment.ordinals.items()}
        self._ordinals = (number, known)
        return known

    async def verify(self, progress: Progress = no_progress) -> list[FileDamaged]:
        """Check every byte of every segment and snapshot against index and checksums; return the damage of each
        file."""
        found: list[FileDamaged] = []
        done = 0
        for number, segment in enumerate(self.index.segments):
            try:
                await self.segment(number)
            except FileDamaged as damage:
                found.append(damage)
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
