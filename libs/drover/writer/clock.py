"""Time, as an input. Tests and simulation hand in a clock that they move themselves."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Wall time, UTC: what events are stamped with."""

    def elapsed_s(self) -> float:
        """Seconds that pass even while the machine sleeps, and that nobody can set: what leases are measured with."""


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def elapsed_s(self) -> float:
        # The monotonic clock stands still while Linux is suspended; a lease does not.
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
