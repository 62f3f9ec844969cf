"""Remembers the ids of commands that took effect lately. They are in the log, so a new writer knows them, too."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

import msgspec

REMEMBERED_FOR: Final = timedelta(minutes=10)
"""How long an id is remembered, measured in the partition's time. The time between two terms does not count."""
REMEMBERED_MAX: Final = 200_000
NEVER_FORGOTTEN_WITHIN: Final = timedelta(seconds=40)
"""Ids younger than this are never forgotten, even if there are more than REMEMBERED_MAX. This is twice as long as a
client of the bus retries a command."""
FULL_AT: Final = 2_000_000
"""From this number of remembered ids on, the writer replies OVERLOADED to new commands. It is never reached in
practice: above REMEMBERED_MAX only ids younger than NEVER_FORGOTTEN_WITHIN are kept, and a partition cannot process so
many commands in that time."""


class CommitMark(msgspec.Struct):
    """The sequence of the commit that recorded a command; 0 until it is stored. All commands of a turn share one
    mark."""

    seq: int = 0


class KeyedMark(msgspec.Struct, frozen=True):
    """A CommitMark for a command whose client sent an Idempotency-Key, with the digest of the request."""

    turn: CommitMark
    digest: str

    @property
    def seq(self) -> int:
        return self.turn.seq


class MemoryEntry(msgspec.Struct, array_like=True):
    """A remembered command as a snapshot stores it."""

    key: str
    digest: str
    seq: int
    at: datetime


Memory = CommitMark | KeyedMark


def split_id(command_id: str) -> tuple[str, str]:
    """Split a command id into the key that identifies the command and the digest of its request, which may be empty."""
    key, _, digest = command_id.partition("~")
    return key, digest


def digest_of(memory: Memory) -> str:
    return memory.digest if isinstance(memory, KeyedMark) else ""


def memory_of(mark: CommitMark, digest: str) -> Memory:
    return KeyedMark(mark, digest) if digest else mark


class Remembered:
    """The remembered commands. It forgets the oldest when they are too old or too many.

    A turn collects its ids in a small dictionary of its own and adds them all at once, because the dictionary of all
    remembered commands is large and slow.
    """

    def __init__(self) -> None:
        self.by_key: dict[str, Memory] = {}
        self._turns: deque[tuple[datetime, tuple[str, ...]]] = deque()

    def __len__(self) -> int:
        return len(self.by_key)

    def absorb(self, at: datetime, ids: Mapping[str, Memory]) -> None:
        """Add the commands that took effect at this time. Forget those that are too old or too many."""
        by_key, turns = self.by_key, self._turns
        by_key.update(ids)
        turns.append((at, tuple(ids)))
        old, young = at - REMEMBERED_FOR, at - NEVER_FORGOTTEN_WITHIN
        while turns[0][0] < old or (len(by_key) > REMEMBERED_MAX and turns[0][0] < young):
            for key in turns.popleft()[1]:
                by_key.pop(key, None)

    def skip(self, duration: timedelta) -> None:
        """Do not count this time towards the age of remembered ids, because nobody led meanwhile or the clock was
        set."""
        if duration:
            self._turns = deque((at + duration, keys) for at, keys in self._turns)

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
