"""The clock of a writer. It is a parameter, so that tests and simulations can pass a clock that they set themselves."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the wall-clock time in UTC, for the timestamps of events."""

    def elapsed_s(self) -> float:
        """Return seconds on a clock that nobody can set and that goes on while the machine sleeps. Leases are measured
        with it."""


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def elapsed_s(self) -> float:
        # CLOCK_MONOTONIC of Linux stands still while the machine sleeps, but a lease still expires.
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
