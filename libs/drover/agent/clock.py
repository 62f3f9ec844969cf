"""The clock of agents: seconds since its start, at a given speed, and their conversion to real time."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class Clock:
    """A clock that may run faster than real time, for tests and simulated farms: at a speed of 10, a minute of its time
    takes six real seconds.

    It shortens all waits of agents: heartbeats, backoff, the length of a simulated video, and also the pauses that the
    platform asks for (`Retry-After`, `Drover-Poll-After`). The platform's clocks do not change, so use a speed of 1
    against a real platform.
    """

    def __init__(self, speed: float = 1.0) -> None:
        assert speed > 0
        self._speed = speed
        self._began = time.monotonic()
        self._began_at = time.time()

    def now(self) -> float:
        return (time.monotonic() - self._began) * self._speed

    def real_s(self, seconds: float) -> float:
        """Convert a duration on this clock to real seconds."""
        return seconds / self._speed

    def wall(self, at: float) -> datetime:
        """Convert a time on this clock to real time."""
        return datetime.fromtimestamp(self._began_at + at / self._speed, UTC)

    def at(self, when: datetime) -> float:
        """Convert a real time to this clock; negative before its start, as for times that an earlier process
        stored."""
        return (when.timestamp() - self._began_at) * self._speed
