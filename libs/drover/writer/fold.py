"""The fold of a partition: the decider's state after all commits of its log, its position, and the remembered command
ids."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Generic, TypeVar

import msgspec

from drover.domain.decider import Decider, Migration
from drover.domain.errors import DroverError
from drover.domain.event import UNSTAMPED, TermStarted
from drover.eventlog.codec import Codec
from drover.eventlog.log import StoredCommit
from drover.writer.idempotency import CommitMark, Memory, MemoryEntry, Remembered, memory_of, split_id

S = TypeVar("S")
Encoded = bytes | bytearray | msgspec.Raw

FOLD_VERSION: Final = 1
"""The version of the code in this module. Raise it if folds that earlier code has made (snapshots) would be wrong for
the new code."""


class LogBroken(DroverError):
    """The numbers of a partition's events have a gap: the log is damaged or was read wrongly."""

    def __init__(self, seq: int, expected_n: int, found_n: int) -> None:
        self.seq, self.expected_n, self.found_n = seq, expected_n, found_n
        super().__init__(f"commit {seq}: expected event {expected_n}, found {found_n}")


class Fold(Generic[S]):
    """The state of a partition. It changes in place: a standby updates it from the log, a leader from its own
    decisions."""

    def __init__(self, decider: Decider[S]) -> None:
        self.state: S = decider.initial()
        self.seq = 0
        self.commit = ""
        """The id of the commit at `seq`. Empty: unknown, or there is none."""
        self.n = 0
        self.at: datetime = UNSTAMPED
        self.epoch = 0
        self.remembered = Remembered()
        self.to_image = decider.to_image
        self._evolve = decider.evolve
        self._codec = Codec.of(decider)

    def apply(self, commit: StoredCommit) -> None:
        """Apply the events of the next commit of the log."""
        mark = CommitMark(commit.seq)
        cause = ""
        ids: dict[str, Memory] = {}
        for event in self._codec.decode(commit.payload):
            if event.n != self.n + 1:
                raise LogBroken(commit.seq, self.n + 1, event.n)
            if type(event) is TermStarted:
                self.begin_term(event)
            self.n = event.n
            self.at = event.at
            self.state = self._evolve(self.state, event)
            if event.cause != cause:
                cause = event.cause
                key, digest = split_id(cause)
                ids[key] = memory_of(mark, digest)
        self.remembered.absorb(self.at, ids)
        self.seq, self.commit = commit.seq, commit.id

    def begin_term(self, event: TermStarted) -> None:
        """Note the epoch of a new term. Call it before `at` is set to the time of this event.

        The time between two terms does not make remembered command ids older, because the clock may have been set in
        between.
        """
        self.epoch = event.epoch
        self.remembered.skip(event.at - self.at)


class FoldImage(msgspec.Struct):
    """A fold as a snapshot stores it. The decider's state stays encoded until it is needed."""

    seq: int
    n: int
    at: datetime
    epoch: int
    remembered: list[MemoryEntry]
    state: msgspec.Raw
    commit: str = ""
    """The id of the commit at `seq`. Empty: an earlier release saved it."""


def encode_image(fold: Fold[Any]) -> bytes:
    return msgspec.msgpack.encode(
        FoldImage(
            fold.seq,
            fold.n,
            fold.at,
            fold.epoch,
            list(fold.remembered.entries()),
            msgspec.Raw(msgspec.msgpack.encode(fold.to_image(fold.state))),
            fold.commit,
        )
    )


def decode_image(decider: Decider[S], data: Encoded, migrate: Migration | None = None) -> Fold[S]:
    """Decode a fold. `migrate`: converts the state from the form of an earlier version."""
    image = msgspec.msgpack.decode(data, type=FoldImage)
    fold = Fold(decider)
    fold.seq, fold.n, fold.at, fold.epoch, fold.commit = image.seq, image.n, image.at, image.epoch, image.commit
    fold.remembered.restore(image.remembered)
    fold.state = decider.from_image(decode_state(decider, image.state, migrate))
    return fold


def decode_state(decider: Decider[Any], state: Encoded, migrate: Migration | None = None) -> Any:
    """Decode the state in an image to the type `Decider.state`. `migrate`: converts it from the form of an earlier
    version."""
    return msgspec.msgpack.decode(_migrated(state, migrate), type=decider.state)


def migrate_image(data: bytes, migrate: Migration | None) -> bytes:
    """Convert an encoded fold of an earlier version to the present form."""
    if migrate is None:
        return data
    image = msgspec.msgpack.decode(data, type=FoldImage)
    image.state = msgspec.Raw(_migrated(image.state, migrate))
    return msgspec.msgpack.encode(image)


def _migrated(state: Encoded, migrate: Migration | None) -> Encoded:
    return state if migrate is None else msgspec.msgpack.encode(migrate(msgspec.msgpack.decode(state)))
