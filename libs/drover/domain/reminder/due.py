"""Finds the next due alarm among a million: a heap of (second, page id) that may contain outdated entries.

The valid time is in the alarm itself and is not stored twice: `Timers` would take three times the memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from typing import Final, Protocol

STALE_MIN: Final = 64
"""The heap is rebuilt when its outdated entries outnumber the others by this many."""


class Waking(Protocol):
    """The part of an alarm that the heap needs."""

    page_id: str
    wake_s: int
    dispatched: bool


class Due:
    """A heap of alarms by the second at which they are due. The state has two: one of claimed alarms, one of the
    others.

    After `tidy` the top entry is never outdated, so reading it is O(1).
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
        """Drop outdated entries; call it after every change of a due time."""
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
