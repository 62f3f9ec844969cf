"""The workers' cache of compositions (RN-13). It keeps each for an hour, unless it changes or the cache is cleared."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from drover.render.queue import Composition, Queue

REMEMBERED_S: Final = 3600.0
REMEMBERED_MAX: Final = 1000


class CompositionCache:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[str, tuple[float, Composition]] = {}

    async def get(self, queue: Queue, composition_id: str, version: int) -> Composition:
        """Return a composition, from the cache if this version is there. `version`: the current one in the queue."""
        known = self._known.get(composition_id)
        if known is not None and known[1].version == version and self._clock() < known[0] + REMEMBERED_S:
            return known[1]
        composition = await queue.composition(composition_id)
        self._known.pop(composition_id, None)
        while len(self._known) >= REMEMBERED_MAX:
            del self._known[next(iter(self._known))]
        self._known[composition_id] = (self._clock(), composition)
        return composition

    def clear(self) -> int:
        """Clear the cache; returns the number of entries removed."""
        count = len(self._known)
        self._known.clear()
        return count
