"""The interface of the log. Implementations: `jetstream` (production) and `memory` (tests, simulation)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Final, Protocol

import msgspec

from drover.domain.errors import DroverError

COMMIT_BYTES_MAX: Final = 256 * 1024
ALL: Final = "*"
"""The name that stands for all partitions of a context, in stream order. For readers only."""


class Partition(msgspec.Struct, frozen=True):
    """One ordered part of a context's log."""

    context: str
    name: str = "main"

    @property
    def stream(self) -> str:
        return self.context.upper()

    @property
    def subject(self) -> str:
        return f"evt.{self.context}.{self.name}"

    def __str__(self) -> str:
        return f"{self.context}/{self.name}"


class Commit(msgspec.Struct, frozen=True):
    """The encoded events of one or more commands, to be appended."""

    id: str
    epoch: int
    payload: bytes


class StoredCommit(msgspec.Struct, frozen=True):
    """A commit as the log stores it. If another program has put a message into the stream, it is read as a commit
    without id and events."""

    seq: int
    id: str
    epoch: int
    stored_at: datetime
    payload: bytes


class AppendConflict(DroverError):
    """Another writer wrote to this partition after the sequence that this writer knows, so its term is over."""


class AppendUnsettled(DroverError):
    """We could not find out in time whether an append was stored. The process must restart and read the log to learn
    it."""


class LogFull(DroverError):
    """The log refused a commit because it has no room. It is certain that the commit was not stored."""

    def __init__(self, reason: str = "no room") -> None:
        super().__init__(f"The log is full ({reason})")
        self.reason = reason


class LogUnreachable(DroverError):
    """The log did not answer a read."""

    def __init__(self, reason: str = "no answer") -> None:
        super().__init__(f"The log does not answer ({reason}). `drover doctor` says what is wrong with NATS.")
        self.reason = reason


class BelowBottom(DroverError):
    """Commits that a reader needs are no longer in the stream: they were purged, and only the archive has them."""

    def __init__(self, partition: Partition, after: int) -> None:
        super().__init__(
            f"The stream {partition.stream} no longer has the commits of {partition} right after {after}: they were "
            "moved to the archive. Set DROVER_ARCHIVE to that archive."
        )
        self.partition = partition
        self.after = after
        """The position right before the missing commits: of the last commit that was read, or the one to begin
        after."""


class LastCommitMissing(DroverError):
    """A partition has had commits, but its stream has none of them. A writer must not start, because it would begin an
    empty log."""

    def __init__(self, partition: Partition, reason: str) -> None:
        super().__init__(
            f"The stream {partition.stream} has no commit of {partition}, but {reason}: its last commit was removed. "
            "Nobody can lead it. Stop all services and restore the log with `drover archive restore` into an empty "
            "NATS server. If this is meant to be a new platform, give it an archive of its own (DROVER_ARCHIVE)."
        )
        self.partition = partition


class Unsettled(msgspec.Struct):
    """A running append, as long as we do not know whether it was stored."""

    since_s: float
    """When the append began, on the monotonic clock."""
    last_result: str = "no answer yet"
    """The result of the last try."""


class Reader(Protocol):
    """Reads a partition in order and without gaps, and waits for new commits. It buffers a bounded number of
    commits."""

    async def next(self) -> list[StoredCommit]:
        """Wait for at least one commit and return all that are buffered. If it is cancelled, no commit is lost.

        It never skips commits. It raises BelowBottom if the next ones are no longer in the stream, and LogUnreachable
        if the archive that has them does not answer. After LogUnreachable it may be called again.
        """

    @property
    def behind(self) -> int:
        """How many commits followed the last one returned, at the time when the server sent that one."""


class EventLog(Protocol):
    """The log of one partition. All reads go to the stream's leader."""

    partition: Partition

    @property
    def unsettled(self) -> Unsettled | None:
        """The running append, as long as we do not know whether it was stored. None: there is no such append."""

    async def append(self, commit: Commit, expected: int) -> int:
        """Append the commit if `expected` is the sequence of the partition's last commit (0 if the partition has none).
        Return the new sequence once the commit is on disk.

        Raises AppendConflict, LogFull or AppendUnsettled, nothing else.
        """

    async def last(self) -> StoredCommit | None: ...

    async def get(self, seq: int) -> StoredCommit | None:
        """Return the commit at this position, in whichever partition of the context it is. None: the position is beyond
        the end. Raises BelowBottom if the commit is no longer in the stream."""

    def read(self, after: int) -> AbstractAsyncContextManager[Reader]: ...

    async def context_end(self) -> int:
        """Return the sequence of the context's last commit in any partition; 0 if there is none."""


OpenLog = Callable[[Partition], EventLog]
