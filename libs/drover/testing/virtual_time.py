"""An event loop whose time a test does not wait for: when nothing is left to do now, it is the time of what is next.

For code that talks to nobody outside of the process. Real sockets and threads need real time: do not mix them in.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from drover.testing.scenario import NOON

T = TypeVar("T")

IDLE_S_MAX: Final = 5.0
"""With no timer and no work, this long in real time: nothing will ever happen, or a thread is still at it."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual_s = 0.0
        super().__init__(_Skipping(self))

    def time(self) -> float:
        return self._virtual_s

    def now(self) -> datetime:
        """Noon of the scenarios' day, and what has passed since."""
        return NOON + timedelta(seconds=self._virtual_s)

    def skip(self, seconds: float) -> None:
        self._virtual_s += seconds


class _Skipping(selectors.DefaultSelector):
    """Where the loop would wait for a timer, time moves instead."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            return super().select(IDLE_S_MAX)
        if timeout > 0 and not (ready := super().select(0)):
            self._loop.skip(timeout)
            return ready
        return super().select(0)


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """Run it to its end on a loop of its own. What it slept for has passed on the loop's clock only."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)
