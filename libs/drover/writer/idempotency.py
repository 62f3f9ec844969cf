"""Which commands have taken effect lately. Rebuilt from the log, so that it survives any change of writer."""

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
"""Twice as long as a bus client repeats a command. Younger ids stay, however many they are."""
FULL_AT: Final = 2_000_000
"""So many ids within that time are more than a partition can do; the writer then says OVERLOADED."""


class CommitMark(msgspec.Struct):
    """Where commands were committed: shared by all of a turn, and 0 while that commit is on its way."""

    seq: int = 0


class KeyedMark(msgspec.Struct, frozen=True):
    """The same for a command whose key its client chose: with the digest of what was asked under it."""

    turn: CommitMark
    digest: str

    @property
    def seq(self) -> int:
        return self.turn.seq


class MemoryEntry(msgspec.Struct, array_like=True):
    """A memory as a snapshot keeps it."""

    key: str
    digest: str
    seq: int
    at: datetime


Memory = CommitMark | KeyedMark


def split_id(command_id: str) -> tuple[str, str]:
    """The key that makes two commands the same, and the digest of what was asked under it (may be empty)."""
    key, _, digest = command_id.partition("~")
    return key, digest


def digest_of(memory: Memory) -> str:
    return memory.digest if isinstance(memory, KeyedMark) else ""


def memory_of(mark: CommitMark, digest: str) -> Memory:
    return KeyedMark(mark, digest) if digest else mark


class Remembered:
    """Bounded by event time and by number; the oldest turn is forgotten first.

    A turn gathers its own ids in a small dictionary and hands them over as a whole: this one is large and cold.
    """

    def __init__(self) -> None:
        self.by_key: dict[str, Memory] = {}
        self._turns: deque[tuple[datetime, tuple[str, ...]]] = deque()

    def __len__(self) -> int:
        return len(self.by_key)

    def absorb(self, at: datetime, ids: Mapping[str, Memory]) -> None:
        """These commands took effect at this moment. Forgets what is too old or too much."""
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
