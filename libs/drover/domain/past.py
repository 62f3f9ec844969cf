"""The window of ended work that a state remembers: bounded by number, and never shorter than a fixed time.

A decider archives ended work when a timer fires: it records an event, and the event removes the work from the state. If
too much has ended, `shorten` lets the timer of the oldest work fire earlier. So the state forgets work only by an
event. When a log is folded again, also with other bounds, each event finds the work that it is about.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import msgspec

from drover.domain.timers import Timers

KEPT_AT_LEAST: Final = timedelta(minutes=20)
"""How long ended work is always remembered. Longer than the writer remembers command ids (ten minutes), so that a
repeated command never finds its work forgotten."""


class Past(msgspec.Struct):
    """Ended work in the order of its end, the oldest first. Work whose timer was already moved forward by `shorten` is
    not in here."""

    sizes: dict[str, int] = {}
    """By the key of the timer that archives a piece of work: how many records the state has of it."""
    size: int = 0
    """The sum of `sizes`."""

    def add(self, key: str, size: int = 1) -> None:
        self.sizes[key] = size
        self.size += size

    def drop(self, key: str) -> None:
        self.size -= self.sizes.pop(key, 0)

    def shorten(self, timers: Timers, *, sooner: timedelta, count_max: int, size_max: int | None = None) -> None:
        """While there are more than `count_max` pieces of work, or more than `size_max` records of them, let the timer
        of the oldest piece fire earlier by `sooner`. The newest piece always stays, however many records it has; other
        bounds limit them."""
        while len(self.sizes) > 1 and (len(self.sizes) > count_max or (size_max is not None and self.size > size_max)):
            key = next(iter(self.sizes))
            self.drop(key)
            timers.set(key, timers.due[key] - sooner)
