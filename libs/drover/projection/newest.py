"""The newest commit of each partition that this process knows of, and since when it has known it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from drover.eventlog.log import Partition
from drover.projection.positions import context_of, place_of

KNOWN_LONG_S: Final = 1.0
"""If a read model still lacks a commit that this process learned of so many seconds ago, the read model is too far
behind. Reads then do not wait for the newest commits, but still for a position that they name themselves."""
MARK_EVERY_S: Final = 0.1
"""Minimum seconds between two remembered positions of a partition. It bounds their number at any rate of commits."""

Sync = Callable[[tuple[str, ...]], Awaitable[bool]]
"""Waits until this process knows every commit of these contexts that was acknowledged to a client before the call.
Returns False if it cannot find out."""


async def in_sync(contexts: tuple[str, ...]) -> bool:
    """Return True: for a process that sends all writes itself, so that it knows all commits."""
    return True


class Newest:
    """Remembers the commits of this process's own writes, and those that writers announce. One for each process."""

    def __init__(
        self, partitions: Iterable[Partition], sync: Sync = in_sync, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`partitions`: all that exist. Commits of other partitions are ignored, because no read model would ever reach
        them."""
        self.sync = sync
        self._clock = clock
        self._places: dict[str, dict[str, _Marks]] = {}
        for partition in partitions:
            places = self._places.setdefault(partition.context, {})
            for place in (partition.context, place_of(partition.context, partition.name)):
                places.setdefault(place, _Marks())

    def observe(self, place: str, seq: int) -> None:
        """Note a commit. `place`: its partition, or a context if all partitions of the context must reach `seq`."""
        marks = self._places.get(context_of(place), {}).get(place)
        if marks is not None:
            marks.add(seq, self._clock())

    def forget(self, context: str) -> None:
        """Forget all positions of a context, because announcements were missed, or the log was replaced and starts at 1
        again."""
        for marks in self._places[context].values():
            marks.clear()

    def of(self, context: str) -> dict[str, int]:
        """Return the newest known positions of a context, by place (see `observe`). Empty: nothing is known."""
        return {place: marks.newest for place, marks in self._places[context].items() if marks.newest}

    def long_known(self, place: str) -> int:
        """Return the newest position that has been known for KNOWN_LONG_S; 0 if there is none."""
        return self._places[context_of(place)][place].before(self._clock() - KNOWN_LONG_S)


class _Marks:
    """The newest position of one partition, and positions of the last second with the time when each was learned."""

    __slots__ = ("_marks", "_newest_at", "newest")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.newest = 0
        self._newest_at = 0.0
        self._marks: deque[tuple[float, int]] = deque()

    def add(self, seq: int, now: float) -> None:
        if seq <= self.newest:
            return
        self.newest, self._newest_at = seq, now
        if not self._marks or now - self._marks[-1][0] >= MARK_EVERY_S:
            self._drop(now - KNOWN_LONG_S)
            self._marks.append((now, seq))

    def before(self, moment: float) -> int:
        if self._newest_at <= moment:
            return self.newest
        self._drop(moment)
        return self._marks[0][1] if self._marks and self._marks[0][0] <= moment else 0

    def _drop(self, moment: float) -> None:
        """Remove the marks up to `moment`, except the last of them."""
        while len(self._marks) > 1 and self._marks[1][0] <= moment:
            self._marks.popleft()
