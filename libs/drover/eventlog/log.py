"""The port of the log. Adapters: `jetstream` (production) and `memory` (tests, simulation)."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Final, Protocol

import msgspec

from drover.domain.errors import DroverError

COMMIT_BYTES_MAX: Final = 256 * 1024
ALL: Final = "*"
"""In place of a partition's name: all partitions of a context, in stream order. For readers only."""


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
    """A commit as the log stores it. A foreign message in the stream becomes one without id and events."""

    seq: int
    id: str
    epoch: int
    stored_at: datetime
    payload: bytes


class AppendConflict(DroverError):
    """Another writer wrote to this partition after the sequence that this writer knows: its term is over."""


class AppendUnsettled(DroverError):
    """An append could not be confirmed or refuted in time. Only a restart, which reads the log, can tell."""


class LogUnreachable(DroverError):
    """The log did not answer a read."""

    def __init__(self, reason: str = "no answer") -> None:
        super().__init__(f"The log does not answer ({reason}). `drover doctor` says what is wrong with NATS.")
        self.reason = reason


class Unsettled(msgspec.Struct):
    """An append that is not settled yet."""

    since_s: float
    """When the append began, on the monotonic clock."""
    last_result: str = "no answer yet"
    """The result of the last try."""


class Reader(Protocol):
    """Follows a partition in order and without gaps, and buffers a bounded number of commits."""

    async def next(self) -> list[StoredCommit]:
        """Wait for at least one commit and return what is buffered. Safe to cancel: nothing is lost."""

    @property
    def behind(self) -> int:
        """The lag: how many commits followed the last one returned, at the time when it was sent."""


class EventLog(Protocol):
    """One partition. All reads go to the stream's leader."""

    partition: Partition

    @property
    def unsettled(self) -> Unsettled | None:
        """The append in progress, or None."""

    async def append(self, commit: Commit, expected: int) -> int:
        """Append after sequence `expected` (0: the log is empty) and return the new sequence, once it is on disk.

        Raises AppendConflict or AppendUnsettled, nothing else.
        """

    async def last(self) -> StoredCommit | None: ...

    async def get(self, seq: int) -> StoredCommit | None: ...

    def read(self, after: int) -> AbstractAsyncContextManager[Reader]: ...

    async def context_end(self) -> int:
        """Sequence of the context's last commit in any partition; 0: there is none."""
