"""An event loop with virtual time: when it is idle, its clock jumps to the next timer.

Only for code without I/O: sockets and threads need real time.
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
"""How long, in real seconds, the loop waits when it has no timer and no work: a thread may still be working."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual_s = 0.0
        super().__init__(_Skipping(self))

    def time(self) -> float:
        return self._virtual_s

    def now(self) -> datetime:
        """Return the current virtual time: `scenario.NOON` plus the virtual seconds that have passed."""
        return NOON + timedelta(seconds=self._virtual_s)

    def skip(self, seconds: float) -> None:
        self._virtual_s += seconds


class LoopClock:
    """The time of a virtual loop, as the clock of a writer."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        self._loop = loop

    def now(self) -> datetime:
        return self._loop.now()

    def elapsed_s(self) -> float:
        return self._loop.time()


class _Skipping(selectors.DefaultSelector):
    """A selector that advances the clock instead of waiting for a timer."""

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
    """Run a coroutine to its end on a loop of its own. Sleeps take virtual time only."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)
