"""Restores commits into an empty log, each at its old position. A restore that was interrupted can be continued."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from hashlib import blake2b
from typing import Final, Protocol

import msgspec

from drover.archive.archive import Progress, no_progress
from drover.archive.errors import LogNotEmpty, RestoreStopped
from drover.archive.text import Placed
from drover.eventlog.log import LogUnreachable, StoredCommit
from drover.eventlog.refill import BATCH_BYTES, NotTaken, Packed, Refill, Returning
from drover.service.tasks import end

TRIES_MAX: Final = 5
"""How many tries in a row may fail without restoring a commit. After that the restore stops with an error."""
RETRY_PAUSE_S: Final = 0.5
READ_S: Final = 30.0
"""The time-out for reading a commit that is known to exist."""


class Source(Protocol):
    """What is to be restored: consecutive commits. The source itself checks that they are complete and undamaged."""

    @property
    def first(self) -> int:
        """The sequence of the first commit to restore. Commits before it had been purged from the log."""

    @property
    def last(self) -> int: ...

    def commits(self, after: int) -> AsyncGenerator[Placed, None]:
        """Yield the commits after a position, in order. It is called again after an error."""

    async def previous(self, seq: int) -> Mapping[str, int]:
        """Return the sequence of each partition's last commit at or before `seq`, by partition."""


class Restored(msgspec.Struct):
    """The result of a restore."""

    context: str
    last: int
    """The sequence of the last commit."""
    events: int
    """How many events this run restored."""
    found: int
    """How many commits an earlier run had already restored."""


async def restore(
    refill: Refill, source: Source, *, progress: Progress = no_progress, checking: Progress = no_progress
) -> Restored:
    """Restore the commits of the source, then read the log back and compare. The log must be empty, or begin with the
    same commits.

    `progress` is told how many commits are restored, `checking` how many were read back.
    """
    began = await already_there(refill, source)
    await refill.prepare()
    work = _Work(refill, source, began, progress)
    if began < source.last:
        await work.run()
    await _confirm(refill, source, began, work.digest, checking)
    return Restored(refill.context, source.last, work.events, began - source.first + 1)


class _Digest:
    """A checksum over the content of consecutive commits."""

    def __init__(self) -> None:
        self._hash = blake2b()

    def with_(self, batch: list[Returning]) -> _Digest:
        """Return the checksum with more commits. This object stays as it is."""
        made = _Digest()
        made._hash = self._hash.copy()
        made.add(returning.commit for returning in batch)
        return made

    def add(self, commits: Iterable[StoredCommit]) -> None:
        """Add commits. Adding them in one call or in several gives the same checksum."""
        content = bytearray()
        for commit in commits:
            _encoder.encode_into(commit, content, -1)
        self._hash.update(content)

    def value(self) -> bytes:
        return self._hash.digest()


_encoder: Final = msgspec.msgpack.Encoder()


class _Work:
    def __init__(self, refill: Refill, source: Source, position: int, progress: Progress) -> None:
        self.events = 0
        self.digest = _Digest()
        """The checksum of the commits that this run restored."""
        self._refill = refill
        self._source = source
        self._position = position
        self._progress = progress

    async def run(self) -> None:
        last, tries = self._source.last, 0
        self._report()
        while self._position < last:
            before = self._position
            try:
                await self._put_all()
            except (NotTaken, LogUnreachable) as error:
                tries = 0 if self._position > before else tries + 1
                if tries == TRIES_MAX:
                    raise RestoreStopped(self._refill.context, self._position, str(error)) from error
                await asyncio.sleep(RETRY_PAUSE_S)

    async def _put_all(self) -> None:
        """Write the commits, a batch at a time. The next batch is encoded while the server stores one, but sent only
        when that one is stored."""
        previous = dict(await self._source.previous(self._position))
        digest = self.digest
        storing: asyncio.Task[None] | None = None
        try:
            async with aclosing(self._source.commits(self._position)) as commits:
                async for batch in _batches(commits, previous, self._refill.batch_commits):
                    packed = await asyncio.to_thread(self._refill.pack, batch)
                    digest = await asyncio.to_thread(digest.with_, batch)
                    if storing is not None:
                        await storing
                    storing = asyncio.create_task(self._put(packed, digest, sum(map(_events, batch))))
            if storing is not None:
                await storing
        finally:
            if storing is not None:
                await end(storing)

    async def _put(self, packed: Packed, digest: _Digest, events: int) -> None:
        """Store a batch. `digest`: the checksum of all commits that this run has restored, including this batch."""
        try:
            await self._refill.put(packed)
        except NotTaken:
            # The batch may be in the log nevertheless, as a whole or not at all.
            there = await already_there(self._refill, self._source)
            if there not in (self._position, packed.last):
                raise LogNotEmpty(self._refill.context, there, "another writer wrote to it") from None
            if there == self._position:
                raise
        self.digest, self._position = digest, packed.last
        self.events += events
        self._report()

    def _report(self) -> None:
        first = self._source.first
        self._progress(self._position - first + 1, self._source.last - first + 1)


def _events(returning: Returning) -> int:
    payload = returning.commit.payload
    return payload.count(b"\n") + (payload != b"" and not payload.endswith(b"\n"))


async def _batches(
    commits: AsyncIterator[Placed], previous: dict[str, int], commits_max: int
) -> AsyncGenerator[list[Returning], None]:
    batch: list[Returning] = []
    size = 0
    async for placed in commits:
        partition, commit = placed.partition, placed.commit
        batch.append(Returning(partition, commit, previous.get(partition, 0)))
        previous[partition] = commit.seq
        size += len(commit.payload)
        if len(batch) == commits_max or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


async def _confirm(refill: Refill, source: Source, began: int, restored: _Digest, checking: Progress) -> None:
    """Read the log back, from the first commit to the last, and compare. Commits of this run are compared by checksum
    with what was sent; commits that were there before are compared with the source one by one."""
    digest = _Digest()
    first, last = source.first, source.last
    async with aclosing(source.commits(first - 1)) as ours, aclosing(_read(refill, first - 1, last)) as found:
        async for commits in found:
            earlier = max(0, began - commits[0].seq + 1)
            for there in commits[:earlier]:
                if (await anext(ours)).commit != there:
                    raise _foreign(refill, there.seq, last)
            digest.add(commits[earlier:])
            checking(commits[-1].seq - first + 1, last - first + 1)
    if digest.value() != restored.value():
        raise _foreign(refill, await _first_difference(refill, source, began), last)


async def _first_difference(refill: Refill, source: Source, after: int) -> int:
    async with aclosing(source.commits(after)) as ours, aclosing(_read(refill, after, source.last)) as found:
        async for commits in found:
            for there in commits:
                if (await anext(ours)).commit != there:
                    return there.seq
    raise AssertionError("checksums differ, so a commit differs")


def _foreign(refill: Refill, seq: int, last: int) -> LogNotEmpty:
    return LogNotEmpty(refill.context, last, f"another writer wrote commit {seq}")


async def _read(refill: Refill, after: int, last: int) -> AsyncGenerator[list[StoredCommit], None]:
    """Yield the commits after the position `after` up to `last`, many at a time."""
    seq = after
    async with refill.read(after) as reader:
        while seq < last:
            try:
                async with asyncio.timeout(READ_S):
                    found = await reader.next()
            except TimeoutError as error:
                raise LogUnreachable(f"no commit within {READ_S:g} s") from error
            found = found[: last - seq]
            seq += len(found)
            yield found


async def already_there(refill: Refill, source: Source) -> int:
    """Return the sequence of the last commit in the log. If the log is empty, return the sequence right before the
    first commit to restore. Raises LogNotEmpty if the log has other commits than the source."""
    there = await refill.last()
    if there is None:
        return source.first - 1
    if there.seq > source.last:
        raise LogNotEmpty(refill.context, there.seq, f"the commits to restore end at {source.last}")
    async with aclosing(source.commits(there.seq - 1)) as commits:
        ours = (await anext(commits)).commit
    if there.seq < source.first or ours != there:
        raise LogNotEmpty(refill.context, there.seq, "its last commit differs from the one to restore there")
    return there.seq
