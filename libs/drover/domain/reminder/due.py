"""What is due when, for a million alarms: a heap of seconds and pages, with outdated entries in it.

The alarms themselves say what holds, so nothing is kept twice: `Timers` would take three times the memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from typing import Final, Protocol

STALE_MIN: Final = 64
"""Below this many outdated entries, sweeping them out is not worth it."""


class Waking(Protocol):
    """What is needed of an alarm."""

    page_id: str
    wake_s: int
    dispatched: bool


class Due:
    """Those alarms of a book that are in hand, or those that are not, by the second at which they are due.

    The top is never outdated once `tidy` was called, so that asking for it costs nothing.
    """

    __slots__ = ("_book", "_dispatched", "_heap")

    def __init__(self, book: Mapping[str, Waking], *, dispatched: bool) -> None:
        self._book = book
        self._dispatched = dispatched
        self._heap: list[tuple[int, str]] = []
        self._sweep()

    def push(self, alarm: Waking) -> None:
        heappush(self._heap, (alarm.wake_s, alarm.page_id))

    def first(self) -> tuple[int, str] | None:
        return self._heap[0] if self._heap else None

    def tidy(self) -> None:
        """After whatever changed when something is due."""
        heap = self._heap
        if len(heap) > 2 * len(self._book) + STALE_MIN:
            self._sweep()
        while heap and not self._holds(*heap[0]):
            heappop(heap)

    def _holds(self, wake_s: int, page_id: str) -> bool:
        alarm = self._book.get(page_id)
        return alarm is not None and alarm.wake_s == wake_s and alarm.dispatched is self._dispatched

    def _sweep(self) -> None:
        wanted = self._dispatched
        self._heap[:] = [(a.wake_s, a.page_id) for a in self._book.values() if a.dispatched is wanted]
        heapify(self._heap)
