"""The last changes of one relation in one partition, without gaps and in bounded memory. Pure.

A position is the sequence number of a commit in the partition. A number is given to each entry in the order of arrival
in this process, so that entries of several tracks can be ordered. Presence (rows that changed without an event) is kept
in a separate small window, because dropping some of it leaves no gap.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec

WINDOW_MESSAGES_MAX: Final = 512
WINDOW_BYTES_MAX: Final = 1024 * 1024
"""Maximum of bytes per track: a few seconds of the busiest farm. A client that is further behind must read the relation
again."""
PRESENCE_SHARE: Final = 4
"""Presence may use one part in this many of `WINDOW_BYTES_MAX`, in addition to it. A client that is further behind
misses some presence."""


class Why(StrEnum):
    """Why a client must read a relation again."""

    BEHIND = "behind"
    """The projector has too many changes to publish."""
    HOLE = "hole"
    """A message was lost, or the client's position is older than the oldest entry."""
    EPOCH = "epoch"
    """Another projector has taken over, or the read model was rebuilt."""
    SLOW = "slow"
    """The client did not read fast enough."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    number: int
    to: int
    """The position of the relation after this entry."""
    data: bytes = b""
    """The data of the event `rows`, the same for all clients."""
    why: Why | None = None
    """If set, the relation must be read again, and there is no data."""


class Track:
    """All entries after the number `_floor_number`, without a gap. A reset replaces all earlier entries."""

    def __init__(
        self,
        next_number: Callable[[], int],
        *,
        messages_max: int = WINDOW_MESSAGES_MAX,
        bytes_max: int = WINDOW_BYTES_MAX,
    ) -> None:
        self.epoch: str | None = None
        """The epoch of the projector that sends the changes. None: no message has arrived yet."""
        self.last: int | None = None
        """The last known position of the relation. None: it is unknown, so the next message cannot be checked for a
        gap."""
        self.newest = next_number()
        """The number of the last entry, or the number at which this track began if it has no entries."""
        self._next_number = next_number
        self._messages_max = messages_max
        self._bytes_max = bytes_max
        self._entries: deque[Entry] = deque()
        self._bytes = 0
        self._presence: deque[Entry] = deque()
        self._presence_bytes = 0
        self._floor_number = self.newest
        self._floor_position: int | None = None
        """The oldest position from which a client can still resume. None: no client can."""

    def begin(self, epoch: str, last: int | None, to: int) -> None:
        """Begin a new epoch of the projector. `last`: the relation's last position in it. `to`: a read at this position
        has all changes so far."""
        self.epoch, self.last = epoch, last
        self._reset(Why.EPOCH, to)
        self._floor_position = last

    def add(self, after: int, to: int, data: bytes) -> bool:
        """Add changed rows. False: they do not continue from the last position, so a message was lost and clients must
        read again."""
        if self.last is None and self._entries and after <= self._entries[-1].to:
            # Readers were already told to read at a later position. A reader that resumes must have read there.
            self.last, self._floor_position = after, self._entries[-1].to
        if after != self.last:
            self.reset(Why.HOLE, to)
            return False
        self.last = to
        entry = Entry(self._next_number(), to, data)
        if to == after:
            self._append_presence(entry)
        else:
            self._append(entry)
        return True

    def reset(self, why: Why, to: int) -> None:
        """Tell all clients to read the relation again, at this position or a later one."""
        self.last = to
        self._reset(why, to)

    def check(self, last: int) -> bool:
        """Compare with the last position that the projector has sent. False: a message was lost."""
        if self.last is None and self._entries and last <= self._entries[-1].to:
            self.last = self._floor_position = last  # readers were already told to read at a later position
        elif last != self.last:
            self.reset(Why.HOLE, last)
            return False
        return True

    def after(self, number: int) -> list[Entry] | None:
        """Return the entries after this number, oldest first. None: some of them were dropped."""
        if number < self._floor_number:
            return None
        newer = _newer(self._entries, number)
        if seen := _newer(self._presence, number):
            newer = sorted((*newer, *seen), key=lambda entry: entry.number)
        return newer

    def resume(self, epoch: str, position: int) -> int | None:
        """Return the number of the last entry that a client at this position has. None: the client must read the
        relation again."""
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
        return self._bytes + self._presence_bytes

    def __len__(self) -> int:
        return len(self._entries)

    def _reset(self, why: Why, to: int) -> None:
        self._entries.clear()
        self._presence.clear()
        self._bytes = self._presence_bytes = 0
        # The entry replaces all earlier ones: it resets every reader of this epoch that has not had it yet.
        self._floor_number, self._floor_position = 0, -1
        self._append(Entry(self._next_number(), to, why=why))

    def _append_presence(self, entry: Entry) -> None:
        self._presence.append(entry)
        self.newest = entry.number
        self._presence_bytes += len(entry.data)
        while len(self._presence) > 1 and self._presence_bytes > self._bytes_max // PRESENCE_SHARE:
            self._presence_bytes -= len(self._presence.popleft().data)

    def _append(self, entry: Entry) -> None:
        self._entries.append(entry)
        self.newest = entry.number
        self._bytes += len(entry.data)
        while len(self._entries) > 1 and (len(self._entries) > self._messages_max or self._bytes > self._bytes_max):
            oldest = self._entries.popleft()
            self._bytes -= len(oldest.data)
            self._floor_number, self._floor_position = oldest.number, oldest.to


def _newer(entries: deque[Entry], number: int) -> list[Entry]:
    newer: list[Entry] = []
    for entry in reversed(entries):
        if entry.number <= number:
            break
        newer.append(entry)
    newer.reverse()
    return newer
