"""The last changes of one relation in one partition: a chain without gaps in bounded memory. Pure.

Positions are those of the partition; numbers count all entries of a process, which orders the entries of several
tracks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec

WINDOW_MESSAGES_MAX: Final = 512
WINDOW_BYTES_MAX: Final = 1024 * 1024
"""Per track. A few seconds of the busiest farm: a client that is held up for longer counts as slow."""


class Why(StrEnum):
    """Why a relation must be read again."""

    BEHIND = "behind"
    """The projector has too many changes to publish."""
    HOLE = "hole"
    """A message was lost, or is older than what is kept."""
    EPOCH = "epoch"
    """Another projector has taken over, or the read model was rebuilt."""
    SLOW = "slow"
    """The client did not read fast enough."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    number: int
    to: int
    """The relation's position after it."""
    data: bytes = b""
    """Of the event `rows`, the same for all clients."""
    why: Why | None = None
    """If set, the relation must be read again, and there is no data."""


class Track:
    """Every entry after `floor`, without a gap. A reset makes all earlier entries useless."""

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
        """The last known position of the relation. None: the next message cannot be checked for a gap."""
        self.newest = next_number()
        """Number of the last entry, or of the beginning."""
        self._next_number = next_number
        self._messages_max = messages_max
        self._bytes_max = bytes_max
        self._entries: deque[Entry] = deque()
        self._bytes = 0
        self._floor_number = self.newest
        self._floor_position: int | None = None
        """Readers before it cannot resume. None: no reader can."""

    def begin(self, epoch: str, last: int | None, to: int) -> None:
        """A new term. `last`: the last position in it; `to`: a read at this position has all changes so far."""
        self.epoch, self.last = epoch, last
        self._reset(Why.EPOCH, to)
        self._floor_position = last

    def add(self, after: int, to: int, data: bytes) -> bool:
        """Add changed rows. False: they do not follow the last position, so something is missing."""
        if after != self.last:
            self.reset(Why.HOLE, to)
            return False
        self.last = to
        self._append(Entry(self._next_number(), to, data))
        return True

    def reset(self, why: Why, to: int) -> None:
        """Readers must read again, at this position or later."""
        self.last = to
        self._reset(why, to)

    def check(self, last: int) -> bool:
        """Compare with the last position that the projector sent. False: something is missing."""
        if self.last is None and self._entries and last <= self._entries[-1].to:
            self.last = self._floor_position = last  # readers were already told to read at a later position
        elif last != self.last:
            self.reset(Why.HOLE, last)
            return False
        return True

    def after(self, number: int) -> list[Entry] | None:
        """The entries that follow, oldest first. None: some of them were dropped."""
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
        """The number after which everything is new to a reader at this position. None: it must read again."""
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
        # The entry replaces all earlier ones: it resets every reader of this epoch that has not had it yet.
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
