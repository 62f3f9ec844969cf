"""The port: what a log can do, whatever keeps it. Adapters: `jetstream` (real) and `memory` (tests, simulation)."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Final, Protocol

import msgspec

from drover.domain.errors import DroverError

COMMIT_BYTES_MAX: Final = 256 * 1024
ALL: Final = "*"
"""In place of a partition's name: all of a context, in the order of its stream. For readers only."""


class Partition(msgspec.Struct, frozen=True):
    """One ordered piece of a context's log."""

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
    """The events of one or more commands, encoded, on their way to the log."""

    id: str
    epoch: int
    payload: bytes


class StoredCommit(msgspec.Struct, frozen=True):
    """A commit as the log keeps it. Without an id and without events: a position that no writer wrote."""

    seq: int
    id: str
    epoch: int
    stored_at: datetime
    payload: bytes


class AppendConflict(DroverError):
    """Somebody else wrote to this partition after the sequence that this writer knows: its term is over."""


class AppendUnsettled(DroverError):
    """An append could be neither confirmed nor refuted in time. Only a restart, which reads the log, can tell."""


class LogUnreachable(DroverError):
    """The log did not answer a read."""

    def __init__(self, reason: str = "no answer") -> None:
        super().__init__(f"The log does not answer ({reason}). `drover doctor` says what is wrong with NATS.")
        self.reason = reason


class Unsettled(msgspec.Struct):
    """An append that has not ended yet."""

    since_s: float
    """By the monotonic clock."""
    said: str = "no answer yet"
    """What the last try was told."""


class Reader(Protocol):
    """Follows a partition, in order and without gaps, holding a bounded number of commits."""

    async def next(self) -> list[StoredCommit]:
        """At least one commit, as soon as there is one. Safe to cancel: nothing is lost."""

    @property
    def behind(self) -> int:
        """How many commits the log had beyond the last one that was handed out, when that one was sent."""


class EventLog(Protocol):
    """One partition. All reads here come from the stream's leader."""

    partition: Partition

    @property
    def unsettled(self) -> Unsettled | None:
        """The append under way; None: there is none."""

    async def append(self, commit: Commit, expected: int) -> int:
        """Add after sequence `expected` (0: nothing yet) and return the new sequence, on disk.

        Raises AppendConflict or AppendUnsettled; there is no third way to fail.
        """

    async def last(self) -> StoredCommit | None: ...

    async def get(self, seq: int) -> StoredCommit | None: ...

    def read(self, after: int) -> AbstractAsyncContextManager[Reader]: ...

    async def context_end(self) -> int:
        """Sequence of the context's last commit, of whichever partition; 0: there is none."""
