"""The farm's clock: simulated seconds since its start, with a speed, and conversion to real time."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class Clock:
    """With a speed of 10, a minute of the farm takes six real seconds. The platform's clocks do not change.

    All waits of the farm are shorter by this factor: heartbeats, backoff, the length of a video, and also what the
    platform asks for (`Retry-After`, `Drover-Poll-After`). Against a real platform, use a speed of 1.
    """

    def __init__(self, speed: float = 1.0) -> None:
        assert speed > 0
        self._speed = speed
        self._began = time.monotonic()
        self._began_at = time.time()

    def now(self) -> float:
        return (time.monotonic() - self._began) * self._speed

    def real_s(self, farm_s: float) -> float:
        """Real seconds of a duration on the farm's clock."""
        return farm_s / self._speed

    def wall(self, at: float) -> datetime:
        """The real time of a moment on the farm's clock."""
        return datetime.fromtimestamp(self._began_at + at / self._speed, UTC)

    def at(self, when: datetime) -> float:
        """The farm's time of a real moment; negative before the farm's start (of an earlier process)."""
        return (when.timestamp() - self._began_at) * self._speed
