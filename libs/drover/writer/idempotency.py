"""Which commands have taken effect lately. Rebuilt from the log, so that it survives any change of writer."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

import msgspec

REMEMBERED_FOR: Final = timedelta(minutes=10)
REMEMBERED_MAX: Final = 200_000


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


class Remembered:
    """Bounded by event time and by number; the oldest turn is forgotten first."""

    def __init__(self) -> None:
        self.by_key: dict[str, Memory] = {}
        self._turns: deque[tuple[datetime, list[str]]] = deque()

    def __len__(self) -> int:
        return len(self.by_key)

    def begin_turn(self, at: datetime) -> None:
        """What is added from here on happened at this moment. Forgets what is too old or too much."""
        turns = self._turns
        horizon = at - REMEMBERED_FOR
        while turns and (turns[0][0] < horizon or len(self.by_key) > REMEMBERED_MAX):
            for key in turns.popleft()[1]:
                self.by_key.pop(key, None)
        turns.append((at, []))

    def add(self, key: str, digest: str, mark: CommitMark) -> None:
        self.by_key[key] = KeyedMark(mark, digest) if digest else mark
        self._turns[-1][1].append(key)

    def entries(self) -> Iterator[MemoryEntry]:
        for at, keys in self._turns:
            for key in keys:
                memory = self.by_key[key]
                yield MemoryEntry(key, digest_of(memory), memory.seq, at)

    def restore(self, entries: Iterable[MemoryEntry]) -> None:
        for (at, seq), turn in groupby(entries, key=lambda entry: (entry.at, entry.seq)):
            self.begin_turn(at)
            mark = CommitMark(seq)
            for entry in turn:
                self.add(entry.key, entry.digest, mark)
