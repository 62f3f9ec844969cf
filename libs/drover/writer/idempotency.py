"""The command ids that took effect lately. They are rebuilt from the log, so a new writer has them, too."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

import msgspec

REMEMBERED_FOR: Final = timedelta(minutes=10)
REMEMBERED_MAX: Final = 200_000
NEVER_FORGOTTEN_WITHIN: Final = timedelta(seconds=40)
"""Ids younger than this are never dropped, however many there are. It is twice as long as a bus client retries a
command."""
FULL_AT: Final = 2_000_000
"""Number of ids above which the writer replies OVERLOADED. A partition cannot process so many within that time."""


class CommitMark(msgspec.Struct):
    """Where commands were committed: shared by all commands of a turn; 0 while the commit is in flight."""

    seq: int = 0


class KeyedMark(msgspec.Struct, frozen=True):
    """A CommitMark for a command whose client sent an Idempotency-Key, with the digest of the request."""

    turn: CommitMark
    digest: str

    @property
    def seq(self) -> int:
        return self.turn.seq


class MemoryEntry(msgspec.Struct, array_like=True):
    """An entry as a snapshot stores it."""

    key: str
    digest: str
    seq: int
    at: datetime


Memory = CommitMark | KeyedMark


def split_id(command_id: str) -> tuple[str, str]:
    """The key that identifies the command, and the digest of its request (may be empty)."""
    key, _, digest = command_id.partition("~")
    return key, digest


def digest_of(memory: Memory) -> str:
    return memory.digest if isinstance(memory, KeyedMark) else ""


def memory_of(mark: CommitMark, digest: str) -> Memory:
    return KeyedMark(mark, digest) if digest else mark


class Remembered:
    """The remembered commands, bounded by event time and by number; drops the oldest turn first.

    A turn collects its ids in a small dictionary and adds them all at once, because this one is large and cold.
    """

    def __init__(self) -> None:
        self.by_key: dict[str, Memory] = {}
        self._turns: deque[tuple[datetime, tuple[str, ...]]] = deque()

    def __len__(self) -> int:
        return len(self.by_key)

    def absorb(self, at: datetime, ids: Mapping[str, Memory]) -> None:
        """Add the commands that took effect at this time; drop those that are too old or too many."""
        by_key, turns = self.by_key, self._turns
        by_key.update(ids)
        turns.append((at, tuple(ids)))
        old, young = at - REMEMBERED_FOR, at - NEVER_FORGOTTEN_WITHIN
        while turns[0][0] < old or (len(by_key) > REMEMBERED_MAX and turns[0][0] < young):
            for key in turns.popleft()[1]:
                by_key.pop(key, None)

    @property
    def is_full(self) -> bool:
        return len(self.by_key) >= FULL_AT

    def entries(self) -> Iterator[MemoryEntry]:
        for at, keys in self._turns:
            for key in keys:
                memory = self.by_key[key]
                yield MemoryEntry(key, digest_of(memory), memory.seq, at)

    def restore(self, entries: Iterable[MemoryEntry]) -> None:
        for (at, seq), turn in groupby(entries, key=lambda entry: (entry.at, entry.seq)):
            mark = CommitMark(seq)
            self.absorb(at, {entry.key: memory_of(mark, entry.digest) for entry in turn})
