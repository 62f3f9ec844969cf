"""The clock of a writer, which is a parameter: tests and simulations pass a clock that they set themselves."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the wall-clock time in UTC, for the timestamps of events."""

    def elapsed_s(self) -> float:
        """Return seconds on a clock that nobody can set and that runs while the machine sleeps, for measuring
        leases."""


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def elapsed_s(self) -> float:
        # CLOCK_MONOTONIC of Linux stands still while the machine sleeps, but a lease still expires.
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
