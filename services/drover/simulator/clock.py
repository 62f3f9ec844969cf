"""The farm's clock: seconds since it was made, and how many of them pass in a real one."""

from __future__ import annotations

import time


class Clock:
    """With a speed of 10 a farm lives through a minute in six seconds."""

    def __init__(self, speed: float = 1.0) -> None:
        assert speed > 0
        self._speed = speed
        self._began = time.monotonic()

    def now(self) -> float:
        return (time.monotonic() - self._began) * self._speed

    def real_s(self, farm_s: float) -> float:
        """How long a time of the farm really takes."""
        return farm_s / self._speed
