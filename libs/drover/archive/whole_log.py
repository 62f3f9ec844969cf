"""One log made of archive and stream: commits that were purged from the stream are read from the archive. Readers do
not notice the difference."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Final, Protocol, TypeVar

import structlog
from nats.aio.client import Client

from drover.archive.archive import Archive
from drover.archive.errors import ArchiveMissing, FileDamaged, ForeignArchive
from drover.archive.opening import open_store
from drover.archive.text import Placed
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import (
    ALL,
    BelowBottom,
    Commit,
    EventLog,
    LastCommitMissing,
    Partition,
    Reader,
    StoredCommit,
    Unsettled,
)

READ_COMMITS_MAX: Final = 256
SCANNED_PER_TURN: Final = 1_000
"""How many archived commits are read before other tasks of the event loop may run."""
OPENINGS_MAX: Final = 3
"""How many times the archive is opened again if it changed while it was read."""

T = TypeVar("T")

log = structlog.get_logger("drover.archive")


class ArchivedLog(Protocol):
    """The archive of one context, as it was when it was opened."""

    @property
    def last(self) -> int:
        """The sequence of the newest archived commit."""

    @property
    def last_commit(self) -> str:
        """The id of the newest archived commit."""

    @property
    def partitions(self) -> Collection[str]:
        """The partitions that have archived commits."""

    def commits(self, after: int) -> AsyncGenerator[Placed, None]: ...

    async def get(self, seq: int) -> Placed | None: ...


OpenArchive = Callable[[], Awaitable[ArchivedLog]]
"""Opens the archive of a context. Raises ArchiveMissing."""


class NotArchived(BelowBottom):
    """Commits are neither in the stream nor in the archive."""

    def __init__(self, partition: Partition, after: int, reason: str) -> None:
        super().__init__(partition, after)
        self.args = (
            f"The stream {partition.stream} no longer has the commits of {partition} right after {after}, and the "
            f"archive does not have them either: {reason}. Check DROVER_ARCHIVE, or bring the archive back from a "
            "copy.",
        )


def open_log(client: Client, partition: Partition, archive: str | None) -> EventLog:
    """Open the log of a partition. `archive`: the setting DROVER_ARCHIVE."""
    stream = JetStreamLog(client, partition)
    return stream if archive is None else WholeLog(stream, open_archive(archive, partition.context))


def open_archive(archive: str, context: str) -> OpenArchive:
    """Return the function that opens the archive of a context. `archive`: the setting DROVER_ARCHIVE."""
    return partial(Archive.open, open_store(archive), context)


class WholeLog:
    """The log of one partition, or of all (`*`). It appends to the stream. It reads from the stream if possible, and
    purged commits from the archive."""

    def __init__(self, stream: EventLog, open_archive: OpenArchive) -> None:
        self.partition = stream.partition
        self._stream = stream
        self._open_archive = open_archive
        self._opened: ArchivedLog | None = None
        self._below = -1
        """The highest position whose next commits are known to be purged from the stream. -1: none is known."""

    @property
    def unsettled(self) -> Unsettled | None:
        return self._stream.unsettled

    async def append(self, commit: Commit, expected: int) -> int:
        return await self._stream.append(commit, expected)

    async def last(self) -> StoredCommit | None:
        """Return the last commit. Raises LastCommitMissing if only the archive has commits of the partition."""
        found = await self._stream.last()
        if found is None and await self._is_archived():
            raise LastCommitMissing(self.partition, "the archive has commits of it")
        return found

    async def _is_archived(self) -> bool:
        with suppress(ArchiveMissing):
            archived = (await self._open_archive()).partitions
            return bool(archived) if self.partition.name == ALL else self.partition.name in archived
        return False

    async def context_end(self) -> int:
        return await self._stream.context_end()

    async def get(self, seq: int) -> StoredCommit | None:
        try:
            return await self._stream.get(seq)
        except BelowBottom:
            placed = await self.from_archive(seq - 1, lambda archive: archive.get(seq))
            return None if placed is None else placed.commit

    async def archived_from(self, seq: int) -> StoredCommit | None:
        """Return the partition's first archived commit with events at or after a position. None: there is none, or the
        position is not below the bottom, so that the stream has it.

        It is for searches. Unlike a reader, the archive keeps the segment in memory for the next call.
        """
        if not self.is_below(seq - 1):
            try:
                await self._stream.get(seq)
            except BelowBottom:
                self.note_below(seq - 1)
            else:
                return None

        async def first(archive: ArchivedLog) -> StoredCommit | None:
            for position in range(seq, archive.last + 1):
                placed = await archive.get(position)
                if placed is not None and self.is_ours(placed) and placed.commit.payload:
                    return placed.commit
            return None

        return await self.from_archive(seq - 1, first)

    @asynccontextmanager
    async def read(self, after: int) -> AsyncIterator[WholeReader]:
        reader = WholeReader(self, after)
        try:
            yield reader
        finally:
            await reader.close()

    def read_stream(self, after: int) -> AbstractAsyncContextManager[Reader]:
        return self._stream.read(after)

    def note_below(self, position: int) -> None:
        self._below = max(self._below, position)

    def is_below(self, position: int) -> bool:
        """Whether the commits right after a position are known to be purged from the stream."""
        return position <= self._below

    async def from_archive(self, after: int, use: Callable[[ArchivedLog], Awaitable[T]]) -> T:
        """Call `use` with the archive, which must have the commit after `after`, and return its result. If the
        archive's files have changed since it was opened, open it again and repeat: a segment that is not full gets
        replaced by a larger one."""
        tries = 0
        while True:
            try:
                return await use(await self.archive_beyond(after))
            except FileDamaged as error:
                self._opened = None
                tries += 1
                if tries == OPENINGS_MAX:
                    raise
                log.warning("archive_opened_again", error=str(error))

    async def archive_beyond(self, after: int) -> ArchivedLog:
        """Return the archive. Raises NotArchived if it has nothing after this position or ends before the stream
        begins, and ForeignArchive if it belongs to another log."""
        if self._opened is not None and self._opened.last > after:
            return self._opened
        known = -1
        while True:
            opened = await self._open(after)
            if opened.last <= after:
                raise NotArchived(self.partition, after, f"it ends at {opened.last}")
            if await self._meets_stream(opened):
                self._opened = opened
                return opened
            if opened.last == known:
                raise NotArchived(self.partition, opened.last, "it ends there")
            # Since it was opened, the archive may have grown and the stream may have been purged: look once more.
            known = opened.last

    async def _open(self, after: int) -> ArchivedLog:
        try:
            return await self._open_archive()
        except ArchiveMissing as error:
            raise NotArchived(self.partition, after, f"there is none in {error.path}") from error

    async def _meets_stream(self, archive: ArchivedLog) -> bool:
        """Whether the newest archived commit is still in the stream. Every purge leaves it there, so if it is, no
        commit is missing between archive and stream."""
        try:
            found = await self._stream.get(archive.last)
        except BelowBottom:
            return False
        if found is None or found.id != archive.last_commit:
            reason = "the log ends before it" if found is None else "the log has another commit there"
            raise ForeignArchive(self.partition.context, archive.last, reason)
        return True

    def is_ours(self, placed: Placed) -> bool:
        return self.partition.name in (ALL, placed.partition)


class WholeReader:
    """Reads the stream. If commits are purged from it, reads the archive up to its end, and then the stream again."""

    def __init__(self, whole: WholeLog, after: int) -> None:
        self._log = whole
        self._position = after
        """The sequence of the last commit that was returned, or of the end of the archive."""
        self._stack = AsyncExitStack()
        self._stream: Reader | None = None
        self._archived: AsyncGenerator[Placed, None] | None = None
        """Yields the commits of the archive after `_scanned`. None: it is not opened, or was stopped by an error."""
        self._archive_end = 0
        self._scanned = 0
        """The sequence of the last commit that was read from the archive, in any partition."""
        self._log_end = 0
        """The sequence of the last commit of the log, at the time when the archive was opened."""
        self._read: list[StoredCommit] = []
        """Commits from the archive that were not returned yet. They stay here if a call is cancelled."""

    @property
    def behind(self) -> int:
        return self._stream.behind if self._stream is not None else max(0, self._log_end - self._position)

    async def next(self) -> list[StoredCommit]:
        while True:
            if self._position < self._archive_end or self._log.is_below(self._position):
                batch = await self._next_of_archive()
            else:
                batch = await self._next_of_stream()
            if batch:
                self._position = batch[-1].seq
                return batch

    async def close(self) -> None:
        await self._leave_archive()
        await self._leave_stream()

    async def _next_of_stream(self) -> list[StoredCommit]:
        """Return the next commits of the stream. Empty if they are purged from it."""
        if self._stream is None:
            self._stream = await self._stack.enter_async_context(self._log.read_stream(self._position))
        try:
            return await self._stream.next()
        except BelowBottom:
            self._log.note_below(self._position)
            await self._leave_stream()
            return []

    async def _leave_stream(self) -> None:
        self._stream = None
        await self._stack.aclose()
        self._stack = AsyncExitStack()

    async def _leave_archive(self) -> None:
        archived, self._archived = self._archived, None
        if archived is not None:
            await archived.aclose()

    async def _next_of_archive(self) -> list[StoredCommit]:
        """Return the next commits of the archive. Empty if it has no more of this partition."""
        self._scanned = max(self._scanned, self._position)
        await self._log.from_archive(self._position, self._gather)
        batch, self._read = self._read, []
        if not batch:
            self._position = self._archive_end
        return batch

    async def _gather(self, archive: ArchivedLog) -> None:
        """Read from the archive until there are enough commits, or to its end."""
        try:
            if self._archived is None or archive.last != self._archive_end:
                await self._leave_archive()
                self._archive_end = archive.last
                self._archived = archive.commits(self._scanned)
                last = await self._log.last()
                self._log_end = last.seq if last else 0
            while self._scanned < self._archive_end and len(self._read) < READ_COMMITS_MAX:
                self._take(await anext(self._archived, None))
                if self._scanned % SCANNED_PER_TURN == 0:
                    await asyncio.sleep(0)
        except BaseException:
            self._archived = None  # a generator that raised has ended: make a new one that begins after what was read
            raise

    def _take(self, placed: Placed | None) -> None:
        if placed is None or placed.commit.seq != self._scanned + 1:
            raise NotArchived(self._log.partition, self._scanned, "its files have a gap")
        self._scanned += 1
        if self._log.is_ours(placed):
            self._read.append(placed.commit)
