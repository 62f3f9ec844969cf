"""Who is due when: one moment for each number, and the earliest first. What is due is not known here."""

from __future__ import annotations

import math
from heapq import heapify, heappop, heappush
from typing import Final

STALE_MIN: Final = 1024
"""Below this many outdated entries, sweeping them out is not worth it."""


class Schedule:
    """A heap with outdated entries, which are dropped when they surface or when they are the larger part."""

    def __init__(self, size: int) -> None:
        self._due_at = [math.inf] * size
        self._heap: list[tuple[float, int]] = []

    def set(self, number: int, due_at: float) -> bool:
        """From now on this is its moment (infinite: never). True if it is sooner than everybody else's."""
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
        """The earliest moment; infinite if there is none."""
        heap = self._heap
        while heap and self._due_at[heap[0][1]] != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else math.inf

    def pop(self) -> tuple[float, int]:
        """The earliest moment and whose it is; that one has no moment then, until it is set again."""
        due_at = self.first_at()
        assert due_at < math.inf, "nobody is due"
        _, number = heappop(self._heap)
        self._due_at[number] = math.inf
        return due_at, number
