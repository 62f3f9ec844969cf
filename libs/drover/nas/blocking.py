"""Blocking calls in threads that may hang: bounded, watched, and left behind when they give no sign of life."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

T = TypeVar("T")

CALLS_MAX: Final = 8
"""Calls under way at the same time; further ones wait for their turn."""
HANGING_MAX: Final = 8
"""Threads that hang in the kernel and cannot be ended. With so many, no further call is tried."""
STALL_S: Final = 30.0
"""Without a sign of life for so long, a call counts as hanging."""
LONGEST_S: Final = 1_800.0
"""No call takes longer in all, however lively it is. A render has as long for everything."""


class Abandoned(Exception):
    """Nobody waits for this call any more."""


class Pulse:
    """What a call in its thread and the one who waits for it know of each other."""

    def __init__(self) -> None:
        self.last_beat: float = time.monotonic()
        self.lost = False
        """Given up for hanging. Another call may be at the same names by now: touch none of them."""
        self._stopping = False
        self._on_lost: Callable[[], None] | None = None

    def beat(self) -> None:
        """A sign of life, from within the call, at least once a chunk. Raises Abandoned when the call should end."""
        if self._stopping or self.lost:
            raise Abandoned
        self.last_beat = time.monotonic()

    def still_alive(self) -> None:
        """A sign of life from within cleaning up, which goes on when the call should end."""
        self.last_beat = time.monotonic()

    def when_lost(self, wake: Callable[[], None] | None) -> None:
        """What could free the thread from what it hangs in. Called from another thread, and must not block."""
        self._on_lost = wake
        if self.lost and wake is not None:
            wake()

    def stop(self) -> None:
        self._stopping = True

    def lose(self) -> None:
        self.lost = True
        if (wake := self._on_lost) is not None:
            wake()


class Blocking:
    """Runs calls, each in a daemon thread of its own: one that hangs in a dead mount must not keep the process alive.

    For use from one event loop.
    """

    def __init__(self, name: str, *, stall_s: float = STALL_S, longest_s: float = LONGEST_S) -> None:
        self._name: Final = name
        self._stall_s: Final = stall_s
        self._longest_s: Final = longest_s
        self._turns: Final = asyncio.Semaphore(CALLS_MAX)
        self._hanging = 0

    async def run(self, call: Callable[[Pulse], T]) -> T:
        """What the call returns or raises; TimeoutError when it hangs. If cancelled, the call may clean up first."""
        async with self._turns:
            if self._hanging >= HANGING_MAX:
                raise TimeoutError(f"{self._hanging} earlier calls hang")
            pulse = Pulse()
            outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()
            thread = threading.Thread(
                target=_in_thread, args=(call, pulse, outcome), name=f"{self._name} call", daemon=True
            )
            thread.start()
            try:
                await self._watch(pulse, outcome, pulse.last_beat + self._longest_s)
            except asyncio.CancelledError:
                await self._wind_up(pulse, outcome)
                raise
            return outcome.result()

    async def _watch(self, pulse: Pulse, outcome: asyncio.Future[Any], deadline: float) -> None:
        while not outcome.done():
            until = min(pulse.last_beat + self._stall_s, deadline)
            if (left := until - time.monotonic()) <= 0:
                self._give_up(pulse, outcome)
                raise TimeoutError("no sign of life" if until < deadline else "it took too long")
            await asyncio.wait({outcome}, timeout=left)

    async def _wind_up(self, pulse: Pulse, outcome: asyncio.Future[Any]) -> None:
        """Wait until a call that nobody needs has cleaned up: nothing should change after its caller has ended."""
        pulse.stop()
        try:
            await self._watch(pulse, outcome, time.monotonic() + self._stall_s)
        except TimeoutError:
            return  # given up already
        except asyncio.CancelledError:
            self._give_up(pulse, outcome)
            raise
        outcome.exception()  # nobody else will ask for it

    def _give_up(self, pulse: Pulse, outcome: asyncio.Future[Any]) -> None:
        self._hanging += 1
        outcome.add_done_callback(self._came_back)
        pulse.lose()

    def _came_back(self, outcome: asyncio.Future[Any]) -> None:
        self._hanging -= 1
        outcome.exception()  # nobody else will ask for it


def _in_thread(call: Callable[[Pulse], T], pulse: Pulse, outcome: asyncio.Future[T]) -> None:
    try:
        result = call(pulse)
    except BaseException as error:  # whatever it is, it belongs to the one who waits
        _tell(outcome, outcome.set_exception, error)
    else:
        _tell(outcome, outcome.set_result, result)


def _tell(outcome: asyncio.Future[T], how: Callable[[Any], None], what: object) -> None:
    with suppress(RuntimeError):  # the loop has ended: nobody is left to be told
        outcome.get_loop().call_soon_threadsafe(how, what)
