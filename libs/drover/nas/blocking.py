"""Runs blocking calls in threads, because they may hang. If a call makes no progress, its caller gives up waiting."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

T = TypeVar("T")

CALLS_MAX: Final = 8
"""How many calls may run at once; further ones wait."""
HANGING_MAX: Final = 8
"""How many abandoned threads may still hang in the kernel, where they cannot be ended. While there are so many, every
further call is refused."""
STALL_S: Final = 30.0
"""A call that sends no heartbeat for this many seconds counts as hanging."""
LONGEST_S: Final = 1_800.0
"""The time-out of a whole call in seconds, even if it makes progress. It equals the time-out of a whole render."""


class Abandoned(Exception):
    """Raised inside a call that should end, because its caller no longer waits for it."""


class Pulse:
    """Connects a call in its thread with the caller that waits for it: the call sends heartbeats, and learns when it
    should end."""

    def __init__(self) -> None:
        self.last_beat: float = time.monotonic()
        self.lost = False
        """Whether the caller has given up because the call hangs. Another call may use the same files by now, so this
        one must not touch them any more."""
        self._stopping = False
        self._on_lost: Callable[[], None] | None = None

    def beat(self) -> None:
        """Send a heartbeat from within the call, at least once for each chunk. Raises Abandoned if the call should
        end."""
        if self._stopping or self.lost:
            raise Abandoned
        self.last_beat = time.monotonic()

    def still_alive(self) -> None:
        """Send a heartbeat while the call cleans up. Unlike `beat`, it never raises Abandoned."""
        self.last_beat = time.monotonic()

    def when_lost(self, wake: Callable[[], None] | None) -> None:
        """Register a function that could free a hanging thread. It is called from another thread and must not block."""
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
    """Runs each call in a daemon thread of its own, so that a call that hangs in a dead mount does not keep the process
    alive.

    For use from one event loop.
    """

    def __init__(self, name: str, *, stall_s: float = STALL_S, longest_s: float = LONGEST_S) -> None:
        self._name: Final = name
        self._stall_s: Final = stall_s
        self._longest_s: Final = longest_s
        self._turns: Final = asyncio.Semaphore(CALLS_MAX)
        self._hanging = 0

    async def run(self, call: Callable[[Pulse], T]) -> T:
        """Run the call in a thread; return its result or raise its exception. Raises TimeoutError if it hangs. If this
        is cancelled, it waits until the call has cleaned up."""
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
                raise TimeoutError("no progress" if until < deadline else "it took too long")
            await asyncio.wait({outcome}, timeout=left)

    async def _wind_up(self, pulse: Pulse, outcome: asyncio.Future[Any]) -> None:
        """Wait until a cancelled call has cleaned up, so that nothing changes after its caller has ended."""
        pulse.stop()
        try:
            await self._watch(pulse, outcome, time.monotonic() + self._stall_s)
        except TimeoutError:
            return  # `_watch` has given up the call
        except asyncio.CancelledError:
            self._give_up(pulse, outcome)
            raise
        outcome.exception()  # mark it as retrieved

    def _give_up(self, pulse: Pulse, outcome: asyncio.Future[Any]) -> None:
        self._hanging += 1
        outcome.add_done_callback(self._came_back)
        pulse.lose()

    def _came_back(self, outcome: asyncio.Future[Any]) -> None:
        self._hanging -= 1
        outcome.exception()  # mark it as retrieved


def _in_thread(call: Callable[[Pulse], T], pulse: Pulse, outcome: asyncio.Future[T]) -> None:
    try:
        result = call(pulse)
    except BaseException as error:  # pass every exception on to the caller
        _hand_over(outcome, outcome.set_exception, error)
    else:
        _hand_over(outcome, outcome.set_result, result)


def _hand_over(outcome: asyncio.Future[T], setter: Callable[[Any], None], value: object) -> None:
    with suppress(RuntimeError):  # the loop is closed: nobody waits
        outcome.get_loop().call_soon_threadsafe(setter, value)
