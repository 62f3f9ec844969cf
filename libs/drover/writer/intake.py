"""Commands that wait for their turn: a bounded queue, and where their outcomes go."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import msgspec

from drover.bus.messages import NOT_LEADER, OVERLOADED, Outcome, Submission
from drover.writer.refusals import Refusal

INTAKE_MAX: Final = 20_000
"""Commands that may wait. A stalled disk fills this, and then callers are told to come back later."""

Probe = asyncio.Future[Refusal | None]
"""Asks whether a command would be accepted now, without being one: None says yes."""


class Pending(Protocol):
    """One command in the queue, and where its outcome goes."""

    submission: Submission[Any]

    def settle(self, outcome: Outcome) -> None: ...


class LocalPending(msgspec.Struct):
    """For a caller in this process. A Struct, as it is the cheapest object to make."""

    submission: Submission[Any]
    future: asyncio.Future[Outcome]

    def settle(self, outcome: Outcome) -> None:
        if not self.future.done():  # the caller may have gone
            self.future.set_result(outcome)


class BatchPending(msgspec.Struct):
    """One command of a message of several."""

    submission: Submission[Any]
    batch: BatchSink
    index: int

    def settle(self, outcome: Outcome) -> None:
        self.batch.settle(self.index, outcome)


class BatchSink:
    """The outcomes of a message: calls back once, when the last one is settled."""

    __slots__ = ("_done", "_left", "_outcomes")

    def __init__(self, size: int, done: Callable[[list[Outcome]], None]) -> None:
        self._outcomes: list[Any] = [None] * size
        self._left = size
        self._done = done

    def settle(self, index: int, outcome: Outcome) -> None:
        self._outcomes[index] = outcome
        self._left -= 1
        if self._left == 0:
            self._done(self._outcomes)


class Intake:
    """Closed until a term opens it, and again after."""

    def __init__(self, limit: int = INTAKE_MAX) -> None:
        self.waiting: deque[Pending] = deque()
        self.arrived = asyncio.Event()
        self.overflowed: Callable[[], object] = lambda: None
        """Called for each command that finds no room."""
        self.probes: list[Probe] = []
        """Waiting for the loop that decides commands. Each waits for a bounded time, and asks only once."""
        self._limit = limit
        self._open = False

    def open(self) -> None:
        self._open = True

    def close(self) -> None:
        """Take nothing more. What waits can still be served."""
        self._open = False

    @property
    def is_open(self) -> bool:
        return self._open

    @property
    def is_full(self) -> bool:
        return len(self.waiting) >= self._limit

    def put_probe(self, probe: Probe) -> None:
        self.probes.append(probe)
        self.arrived.set()

    def answer_probes(self, refusal: Refusal | None) -> None:
        for probe in self.probes:
            if not probe.done():  # who asked may have gone
                probe.set_result(refusal)
        self.probes.clear()

    def put(self, pending: Pending) -> None:
        waiting = self.waiting
        if not self._open:
            pending.settle(NOT_LEADER)
        elif len(waiting) >= self._limit:
            self.overflowed()
            pending.settle(OVERLOADED)
        else:
            waiting.append(pending)
            if not self.arrived.is_set():
                self.arrived.set()

    def put_all(self, pending: Sequence[Pending]) -> None:
        """The same for many at once."""
        if self._open and len(self.waiting) + len(pending) <= self._limit:
            self.waiting.extend(pending)
            self.arrived.set()
        else:
            for one in pending:
                self.put(one)

    def turn_away(self) -> None:
        """Answer everything that waits: the term is over, and none of it has had any effect."""
        while self.waiting:
            self.waiting.popleft().settle(NOT_LEADER)
