"""A clock that a test sets itself."""

from __future__ import annotations

from datetime import datetime, timedelta

from drover.testing.scenario import NOON


class VirtualClock:
    def __init__(self, now: datetime = NOON) -> None:
        self._now = now
        self._elapsed_s = 0.0

    def now(self) -> datetime:
        return self._now

    def elapsed_s(self) -> float:
        return self._elapsed_s

    def advance(self, **duration: float) -> None:
        step = timedelta(**duration)
        self._now += step
        self._elapsed_s += step.total_seconds()

    def set_wall(self, **by: float) -> None:
        """Set the wall clock forward or, with a negative duration, back. No time passes."""
        self._now += timedelta(**by)
