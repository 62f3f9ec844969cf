"""The window of ended work that a state remembers: bounded by number, and never shorter than a fixed time.

A decider archives ended work when a timer fires, by an event. If too much has ended since, `shorten` moves the timer of
the oldest forward. So only events remove ended work from a state, and logs of before fold as they did.
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
    """Ended work in the order of its end, the oldest first. It does not have work that will be archived soon."""

    sizes: dict[str, int] = {}
    """By the key of the timer that archives it, how many records the state keeps of it."""
    size: int = 0
    """The sum of `sizes`."""

    def add(self, key: str, size: int = 1) -> None:
        self.sizes[key] = size
        self.size += size

    def drop(self, key: str) -> None:
        self.size -= self.sizes.pop(key, 0)

    def shorten(self, timers: Timers, *, sooner: timedelta, count_max: int, size_max: int | None = None) -> None:
        """While there is too much, let the timer of the oldest fire this much sooner. The newest always stays: its own
        size has another bound."""
        while len(self.sizes) > 1 and (len(self.sizes) > count_max or (size_max is not None and self.size > size_max)):
            key = next(iter(self.sizes))
            self.drop(key)
            timers.set(key, timers.due[key] - sooner)
