"""What is due when: at most one moment for each key, earliest first. Pure data; firing is the decider's business."""

from __future__ import annotations

from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import Final

import msgspec

STALE_MIN: Final = 64
"""Below this many outdated entries, sweeping them out is not worth it."""


class Timers(msgspec.Struct):
    """A heap with outdated entries, which are dropped when they surface or when they are the larger part.

    The top is never outdated, so that asking for it costs nothing.
    """

    due: dict[str, datetime] = {}
    heap: list[tuple[datetime, str]] = []

    def set(self, key: str, at: datetime) -> None:
        if self.due.get(key) == at:
            return
        self.due[key] = at
        heappush(self.heap, (at, key))
        self._tidy()

    def clear(self, key: str) -> None:
        if self.due.pop(key, None) is not None:
            self._tidy()

    def first(self) -> tuple[datetime, str] | None:
        return self.heap[0] if self.heap else None

    def _tidy(self) -> None:
        heap, due = self.heap, self.due
        if len(heap) > 2 * len(due) + STALE_MIN:
            self.heap = heap = [(at, key) for key, at in due.items()]
            heapify(heap)
        while heap and due.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
