"""A clock for tests: time passes for the simulated nexrender only when a test advances it."""

from __future__ import annotations


class HandClock:
    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def real_s(self, seconds: float) -> float:
        """Late answers take real time, too."""
        return seconds

    def advance(self, seconds: float) -> None:
        assert seconds >= 0
        self._now += seconds
