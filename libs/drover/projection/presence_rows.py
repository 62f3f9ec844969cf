"""Chooses which rows to publish after signs of life have changed them: each device at most once per interval."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final

from drover.readmodel.table import Key

INTERVAL_S: Final = 30.0
TURN_S: Final = 0.2
ROWS_PER_TURN_MAX: Final = 100
"""How many rows are published in each turn of TURN_S seconds. With more than 15,000 devices, a device is published less
often than every INTERVAL_S."""
WAITING_MAX: Final = 100_000
"""How many devices may wait for publication. Beyond it, a new device is dropped until its next sign of life."""


class PresenceRows:
    """Collects the keys of devices whose signs of life were written. The row stream takes those that are due."""

    def __init__(self, relation: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.relation: Final = relation
        """The relation whose rows show signs of life."""
        self._clock = clock
        self._due: OrderedDict[Key, None] = OrderedDict()
        """Devices with a sign of life whose last publication is at least an interval ago. The one that waits longest is
        first."""
        self._published: OrderedDict[Key, float] = OrderedDict()
        """Devices that were published within the last interval, with the time of publication; the oldest first."""
        self._seen_again: set[Key] = set()
        """Devices in `_published` that have sent another sign of life since."""

    @property
    def waiting(self) -> int:
        return len(self._due)

    def seen(self, keys: Iterable[Key]) -> None:
        for key in keys:
            if key in self._published:
                self._seen_again.add(key)
            elif len(self._due) < WAITING_MAX:
                self._due[key] = None

    def take(self) -> list[Key]:
        """Return the keys whose rows are to be published now. They count as published even if publishing fails: the
        next sign of life is published after the interval."""
        now = self._clock()
        self._end_intervals(now - INTERVAL_S)
        keys = [self._due.popitem(last=False)[0] for _ in range(min(len(self._due), ROWS_PER_TURN_MAX))]
        self._published.update(dict.fromkeys(keys, now))
        return keys

    def _end_intervals(self, until: float) -> None:
        while self._published:
            key, at = next(iter(self._published.items()))
            if at > until:
                return
            del self._published[key]
            if key in self._seen_again:
                self._seen_again.remove(key)
                self._due[key] = None
