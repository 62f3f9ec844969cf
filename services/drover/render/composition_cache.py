"""Compositions as workers remember them (RN-13): for an hour, unless they changed or somebody clears the memory."""

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
        """`version`: as the queue has it now. An older one is not used, however fresh."""
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
        """How many were forgotten."""
        count = len(self._known)
        self._known.clear()
        return count
