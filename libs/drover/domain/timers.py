"""Timers: at most one moment for each key, the earliest first. Only data: the decider fires what is due."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from heapq import heapify, heappop, heappush
from typing import Final

import msgspec

AT_ONCE: Final = datetime.min.replace(tzinfo=UTC)
"""A deadline that has always passed. A state that has work left to do uses it, so that the next tick comes at once."""
STALE_MIN: Final = 64
"""The heap is rebuilt when its outdated entries outnumber the others by this many."""


class Timers(msgspec.Struct):
    """A heap of moments and keys. It keeps outdated entries until they reach the top, or until they outnumber the
    others by `STALE_MIN`.

    The top is never outdated, so `first` is O(1).
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

    def first_at(self) -> datetime | None:
        return self.heap[0][0] if self.heap else None

    def overdue(self, now: datetime) -> tuple[str, str] | None:
        """Return the kind and the subject of the first timer (its key is `kind:subject`). None: no timer is due."""
        if not self.heap or self.heap[0][0] > now:
            return None
        kind, _, subject = self.heap[0][1].partition(":")
        return kind, subject

    def bring_forward(self, by: timedelta, *, except_kinds: Collection[str] = ()) -> None:
        """Let all timers fire earlier by `by`, except those of the kinds `except_kinds`."""
        if not by:
            return
        self.due = {key: at if key.partition(":")[0] in except_kinds else at - by for key, at in self.due.items()}
        self.heap = [(at, key) for key, at in self.due.items()]
        heapify(self.heap)

    def _tidy(self) -> None:
        heap, due = self.heap, self.due
        if len(heap) > 2 * len(due) + STALE_MIN:
            self.heap = heap = [(at, key) for key, at in due.items()]
            heapify(heap)
        while heap and due.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
