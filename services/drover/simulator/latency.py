"""A histogram of latencies with a fixed size. Its values are exact to ten per cent."""

from __future__ import annotations

import math
from typing import Final

SMALLEST_S: Final = 0.0001
GROWTH: Final = 1.1
BUCKETS: Final = 160
"""The number of buckets. The last one begins at about six minutes and has no upper end."""


class Latency:
    """A histogram of times in seconds. A quantile is reported as the upper end of its bucket."""

    __slots__ = ("_counts", "count", "max_s")

    def __init__(self) -> None:
        self._counts = [0] * BUCKETS
        self.count = 0
        self.max_s = 0.0

    def add(self, seconds: float) -> None:
        place = 0 if seconds <= SMALLEST_S else math.ceil(math.log(seconds / SMALLEST_S, GROWTH))
        self._counts[min(place, BUCKETS - 1)] += 1
        self.count += 1
        self.max_s = max(self.max_s, seconds)

    def quantile(self, share: float) -> float | None:
        """Return the quantile. None if nothing was measured."""
        left = share * self.count
        for place, count in enumerate(self._counts):
            left -= count
            if count and left <= 0:
                return min(SMALLEST_S * GROWTH**place, self.max_s)
        return None

    def summary(self) -> dict[str, float | int | None]:
        p50, p99 = (None if (found := self.quantile(share)) is None else round(found, 4) for share in (0.5, 0.99))
        return {"count": self.count, "p50_s": p50, "p99_s": p99, "max_s": round(self.max_s, 4)}
