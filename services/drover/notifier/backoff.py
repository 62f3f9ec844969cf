"""How long a receiver is left alone that did not take a notice."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

FIRST_S: Final = 1.0
MAX_S: Final = 300.0
ASKED_MAX_S: Final = 3600.0
"""Whatever `Retry-After` says."""
JITTER: Final = 0.2


class Backoff:
    def __init__(self, jitter: Callable[[float, float], float] = random.uniform) -> None:
        self._jitter = jitter
        self._failures = 0

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self, asked_s: float | None = None) -> float:
        """How long to wait now. What the receiver asks for counts if it is longer."""
        pause = min(FIRST_S * 2.0 ** min(self._failures, 16), MAX_S)
        self._failures += 1
        pause *= self._jitter(1 - JITTER, 1 + JITTER)
        return max(pause, min(asked_s or 0.0, ASKED_MAX_S))
