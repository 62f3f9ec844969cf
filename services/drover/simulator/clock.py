"""The farm's clock: seconds since it was made, how many of them pass in a real one, and which moment each was."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class Clock:
    """With a speed of 10 a farm lives through a minute in six seconds. The platform's clocks do not follow.

    So everything the farm waits for is shorter by the same factor: heartbeats, backoff, the length of a video, and also
    what the platform asks for (`Retry-After`, `Drover-Poll-After`). Against a real platform the speed to use is 1.
    """

    def __init__(self, speed: float = 1.0) -> None:
        assert speed > 0
        self._speed = speed
        self._began = time.monotonic()
        self._began_at = time.time()

    def now(self) -> float:
        return (time.monotonic() - self._began) * self._speed

    def real_s(self, farm_s: float) -> float:
        """How long a time of the farm really takes."""
        return farm_s / self._speed

    def wall(self, at: float) -> datetime:
        """When a moment of the farm really was."""
        return datetime.fromtimestamp(self._began_at + at / self._speed, UTC)

    def at(self, when: datetime) -> float:
        """The moment of the farm that a date is; before its beginning (an earlier process) it is negative."""
        return (when.timestamp() - self._began_at) * self._speed
