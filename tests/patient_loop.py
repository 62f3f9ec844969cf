"""An event loop whose time stands still while the machine keeps this process from running.

Client, server and clock of a unit test live in one process. Under load all of them are late together, but real time
goes on: a timer of 100 ms comes before an answer that was on its way. On this loop they come in the order in which they
come on an idle machine.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from typing import Final

TURN_S_MAX: Final = 0.01
"""What a turn of the loop counts at most, beside what it was meant to wait."""


class PatientLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._patient_s = 0.0
        super().__init__(_Measuring(self))

    def time(self) -> float:
        return self._patient_s

    def pass_time(self, seconds: float) -> None:
        self._patient_s += seconds


class _Measuring(selectors.DefaultSelector):
    """Lets the loop's time pass: as much as has really passed, but no more than this turn should have taken."""

    def __init__(self, loop: PatientLoop) -> None:
        super().__init__()
        self._loop = loop
        self._turned_at = time.monotonic()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(timeout)
        now = time.monotonic()
        passed_s, self._turned_at = now - self._turned_at, now
        self._loop.pass_time(min(passed_s, (timeout or 0.0) + TURN_S_MAX))
        return ready
