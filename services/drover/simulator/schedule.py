"""A schedule: for each number (of a phone, for example) the time at which it is due, earliest first."""

from __future__ import annotations

import math
from heapq import heapify, heappop, heappush
from typing import Final

STALE_MIN: Final = 1024
"""The heap is not rebuilt while it has fewer outdated entries than this."""


class Schedule:
    """A schedule in a heap, which may have outdated entries. They are dropped when they reach the top, or when they
    outnumber the others."""

    def __init__(self, size: int) -> None:
        self._due_at = [math.inf] * size
        self._heap: list[tuple[float, int]] = []

    def set(self, number: int, due_at: float) -> bool:
        """Set when this number is due (infinite: never). Returns whether it is now the earliest."""
        if due_at == self._due_at[number]:
            return False
        first_at = self.first_at()
        self._due_at[number] = due_at
        if due_at == math.inf:
            return False
        heappush(self._heap, (due_at, number))
        if len(self._heap) > 2 * len(self._due_at) + STALE_MIN:
            self._heap = [(at, one) for one, at in enumerate(self._due_at) if at < math.inf]
            heapify(self._heap)
        return due_at < first_at

    def first_at(self) -> float:
        """The earliest time in the schedule; infinite if it is empty."""
        heap = self._heap
        while heap and self._due_at[heap[0][1]] != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else math.inf

    def pop(self) -> tuple[float, int]:
        """Remove the number that is due first. Returns its time and the number."""
        due_at = self.first_at()
        assert due_at < math.inf, "nobody is due"
        _, number = heappop(self._heap)
        self._due_at[number] = math.inf
        return due_at, number
