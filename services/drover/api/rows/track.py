"""What was last told of one relation in one partition: an unbroken chain in bounded memory. Pure.

Positions are those of the partition; numbers count all entries of a process, so that those of several tracks have an
order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec

WINDOW_MESSAGES_MAX: Final = 512
WINDOW_BYTES_MAX: Final = 1024 * 1024
"""Of each track. Some seconds of the busiest farm: so long may a client be held up before it is a slow one."""


class Why(StrEnum):
    """Why a relation is to be read again."""

    BEHIND = "behind"
    """The projector has too much to tell."""
    HOLE = "hole"
    """Something was lost on the way, or is older than what is kept."""
    EPOCH = "epoch"
    """Another projector has taken over, or the tables were made anew."""
    SLOW = "slow"
    """The client did not read fast enough."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    number: int
    to: int
    """The position that it brings the relation to."""
    data: bytes = b""
    """Of the event `rows`, the same for all clients."""
    why: Why | None = None
    """Set: the relation is to be read again, and there is no data."""


class Track:
    """Every entry after `floor`, without a gap. A reset makes all that came before it worthless."""

    def __init__(
        self,
        next_number: Callable[[], int],
        *,
        messages_max: int = WINDOW_MESSAGES_MAX,
        bytes_max: int = WINDOW_BYTES_MAX,
    ) -> None:
        self.epoch: str | None = None
        """None: nothing was heard yet."""
        self.last: int | None = None
        """The position that the relation is known to be told up to. None: what comes next cannot be checked."""
        self.newest = next_number()
        """Number of the last entry, or of the beginning."""
        self._next_number = next_number
        self._messages_max = messages_max
        self._bytes_max = bytes_max
        self._entries: deque[Entry] = deque()
        self._bytes = 0
        self._floor_number = self.newest
        self._floor_position: int | None = None
        """Who stands before it cannot go on. None: nobody can."""

    def begin(self, epoch: str, last: int | None, to: int) -> None:
        """Another term. `last`: what was told in it so far; `to`: whoever reads at this position has all until now."""
        self.epoch, self.last = epoch, last
        self._reset(Why.EPOCH, to)
        self._floor_position = last

    def add(self, after: int, to: int, data: bytes) -> None:
        """Rows that changed. What does not follow on what was told last shows that something is missing."""
        if after != self.last:
            self.reset(Why.HOLE, to)
            return
        self.last = to
        self._append(Entry(self._next_number(), to, data))

    def reset(self, why: Why, to: int) -> None:
        """Readers are to read again, at this position or later."""
        self.last = to
        self._reset(why, to)

    def check(self, last: int) -> None:
        """The last that was sent, as the projector says."""
        if self.last is None and self._entries and last <= self._entries[-1].to:
            self.last = self._floor_position = last  # readers were told to read at a later position already
        elif last != self.last:
            self.reset(Why.HOLE, last)

    def after(self, number: int) -> list[Entry] | None:
        """The entries that follow, oldest first. None: some of them are not kept any more."""
        if number < self._floor_number:
            return None
        newer: list[Entry] = []
        for entry in reversed(self._entries):
            if entry.number <= number:
                break
            newer.append(entry)
        newer.reverse()
        return newer

    def resume(self, epoch: str, position: int) -> int | None:
        """The number after which everything is new to a reader that stood there. None: it must read again."""
        if epoch != self.epoch or self._floor_position is None or position < self._floor_position:
            return None
        number = self._floor_number
        for entry in self._entries:
            if entry.to > position:
                break
            number = entry.number
        return number

    @property
    def size_bytes(self) -> int:
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)

    def _reset(self, why: Why, to: int) -> None:
        self._entries.clear()
        self._bytes = 0
        # The entry stands for all that came before: whoever has not had it yet, in this epoch, is told by it.
        self._floor_number, self._floor_position = 0, -1
        self._append(Entry(self._next_number(), to, why=why))

    def _append(self, entry: Entry) -> None:
        self._entries.append(entry)
        self.newest = entry.number
        self._bytes += len(entry.data)
        while len(self._entries) > 1 and (len(self._entries) > self._messages_max or self._bytes > self._bytes_max):
            oldest = self._entries.popleft()
            self._bytes -= len(oldest.data)
            self._floor_number, self._floor_position = oldest.number, oldest.to
