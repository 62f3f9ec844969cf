"""Answers repeated commands with the outcome of the first time. It reads that outcome from the log, in tasks beside the
writer's loop."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from drover.bus.messages import NOT_LEADER, Outcome, Rejected
from drover.domain.errors import Code
from drover.domain.event import Event
from drover.eventlog.codec import Codec
from drover.eventlog.log import BelowBottom, EventLog, LogUnreachable
from drover.service.tasks import end
from drover.writer.idempotency import Memory, digest_of, split_id
from drover.writer.intake import Pending
from drover.writer.turn import internal

COMMITS_KEPT_MAX: Final = 64
TASKS_MAX: Final = 16
"""How many turns may look up their repeated commands at once. Callers of further turns get NOT_LEADER and retry."""

Repeat = tuple[Pending, Memory]


class Repeats:
    """Looks up earlier outcomes in the log, and caches a few commits. Its answers are right even if the lease was lost,
    because they come from the log."""

    def __init__(self, log: EventLog, codec: Codec, outcome_of: Callable[[Sequence[Event], int], Outcome]) -> None:
        self._log = log
        self._codec = codec
        self._outcome_of = outcome_of
        self._kept: OrderedDict[int, Mapping[str, Outcome]] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()

    def answer(self, repeats: Sequence[Repeat]) -> None:
        if len(self._tasks) >= TASKS_MAX:
            _turn_away(repeats)
            return
        task = asyncio.create_task(self._answer(repeats), name="repeats")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        await end(*self._tasks)

    async def _answer(self, repeats: Sequence[Repeat]) -> None:
        answered = 0
        try:
            for pending, memory in repeats:
                outcome = await self._outcome(pending, memory)
                answered += 1
                pending.settle(outcome)
        except (LogUnreachable, BelowBottom):
            pass  # the commands took effect: when their callers ask again, another writer can answer
        finally:
            _turn_away(repeats[answered:])

    async def _outcome(self, pending: Pending, memory: Memory) -> Outcome:
        key, digest = split_id(pending.submission.id)
        if digest != digest_of(memory):
            message = "This Idempotency-Key was used for another request"
            return Rejected(Code.IDEMPOTENCY_MISMATCH, message, {"key": key})
        answers = self._kept.get(memory.seq) or await self._look_up(memory.seq)
        return answers.get(key) or internal(pending.submission.trace)

    async def _look_up(self, seq: int) -> Mapping[str, Outcome]:
        commit = await self._log.get(seq)
        by_cause: dict[str, list[Event]] = {}
        for event in self._codec.decode(commit.payload) if commit else ():
            by_cause.setdefault(split_id(event.cause)[0], []).append(event)
        answers = self._kept[seq] = {cause: self._outcome_of(events, seq) for cause, events in by_cause.items()}
        while len(self._kept) > COMMITS_KEPT_MAX:
            self._kept.popitem(last=False)
        return answers


def _turn_away(repeats: Sequence[Repeat]) -> None:
    for pending, _ in repeats:
        pending.settle(NOT_LEADER)
