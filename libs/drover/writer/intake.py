"""The bounded queue of commands that wait to be decided, each with the receiver of its outcome."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import msgspec

from drover.bus.messages import NOT_LEADER, OVERLOADED, Outcome, Submission
from drover.writer.refusals import Refusal

INTAKE_MAX: Final = 20_000
"""How many commands the queue holds. It fills up if the disk stalls; further callers then get OVERLOADED."""

Probe = asyncio.Future[Refusal | None]
"""A question whether a command would be accepted now. Its result is the reason why not, or None if it would be
accepted."""


class Pending(Protocol):
    """One command in the queue, with the receiver of its outcome."""

    submission: Submission[Any]

    def settle(self, outcome: Outcome) -> None: ...


class LocalPending(msgspec.Struct):
    """A command whose caller is in this process. A Struct, because that is the cheapest object to create."""

    submission: Submission[Any]
    future: asyncio.Future[Outcome]

    def settle(self, outcome: Outcome) -> None:
        if not self.future.done():  # the caller may have given up
            self.future.set_result(outcome)


class BatchPending(msgspec.Struct):
    """A command that came from the bus in a message with several commands."""

    submission: Submission[Any]
    batch: BatchSink
    index: int

    def settle(self, outcome: Outcome) -> None:
        self.batch.settle(self.index, outcome)


class BatchSink:
    """Collects the outcomes of the commands that came in one message, and calls a function with all of them after the
    last one."""

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
    """The queue of a writer. It accepts commands only during a term."""

    def __init__(self, limit: int = INTAKE_MAX) -> None:
        self.waiting: deque[Pending] = deque()
        self.arrived = asyncio.Event()
        self.overflowed: Callable[[], object] = lambda: None
        """Called for each command that does not fit into the queue."""
        self.probes: list[Probe] = []
        """Probes that wait for an answer. The loop that decides commands answers them."""
        self._limit = limit
        self._open = False

    def open(self) -> None:
        self._open = True

    def close(self) -> None:
        """Accept no more commands. Those in the queue can still be decided."""
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
            if not probe.done():  # the caller may have given up
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
        """Add several commands to the queue, as `put` does."""
        if self._open and len(self.waiting) + len(pending) <= self._limit:
            self.waiting.extend(pending)
            self.arrived.set()
        else:
            for one in pending:
                self.put(one)

    def turn_away(self) -> None:
        """Reply NOT_LEADER to all commands in the queue, because the term is over. None of them took effect."""
        while self.waiting:
            self.waiting.popleft().settle(NOT_LEADER)
