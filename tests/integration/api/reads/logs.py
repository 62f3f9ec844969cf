"""Logs in memory of all contexts, written by hand and projected into a real database."""

from __future__ import annotations

import importlib
from datetime import datetime, timedelta
from typing import Any

from drover.domain.analysis import ANALYSIS
from drover.domain.event import Event
from drover.domain.fleet import FLEET
from drover.domain.identity import IDENTITY
from drover.domain.reminder import REMINDER
from drover.domain.render import RENDER
from drover.eventlog.codec import Codec
from drover.eventlog.log import Commit, Partition
from drover.eventlog.memory import MemoryLog
from drover.projection.checkpoint import Checkpoint
from drover.projector.app import PROJECTIONS, Projector
from drover.testing.waiting import eventually

CODECS = {decider.context: Codec.of(decider) for decider in (FLEET, RENDER, ANALYSIS, IDENTITY, REMINDER)}


class Told:
    """An event as it should be found."""

    def __init__(self, context: str, seq: int, line: int, event: Event, entities: tuple[str, ...]) -> None:
        self.place = (context, seq, line)
        self.event = event
        self.entities = entities


RULES = {
    "fleet": "drover.projector.fleet.projection",
    "render": "drover.projector.render.projection",
    "analysis": "drover.projector.analysis.projection",
    "identity": "drover.projector.identity.projection",
    "reminder": "drover.projector.reminder.projection",
}


def entities_of(context: str, event: Event) -> tuple[str, ...]:
    found: tuple[str, ...] = importlib.import_module(RULES[context]).RULES[type(event)].entities(event)
    return found


class ContextLog:
    """One context. Has what `FarmHistory` needs: `commit` and `head`."""

    def __init__(self, context: str, clock: Any, by: str = "service_role") -> None:
        self.context = context
        self.log = MemoryLog(Partition(context))
        self.head = Checkpoint()
        self.told: list[Told] = []
        self._clock = clock
        self._by = by

    async def commit(self, *events: Event, cause: str | None = None, by: str | None = None) -> int:
        """All of it follows from one command."""
        cause = cause or f"{self.context}-command-{self.head.n + 1}"
        for n, event in enumerate(events, start=self.head.n + 1):
            event.n, event.at, event.by, event.cause = n, self._clock(n), by or self._by, cause
        payload = CODECS[self.context].encode(events)
        seq = await self.log.append(Commit(str(self.head.seq), 1, payload), self.head.seq)
        self.head = Checkpoint(seq, self.head.n + len(events), str(self.head.seq))
        self.told += [
            Told(self.context, seq, line, event, entities_of(self.context, event)) for line, event in enumerate(events)
        ]
        return seq


class Logs:
    """All contexts, by name. `clock`: when the n-th event of a context happens."""

    def __init__(self, clock: Any) -> None:
        self.clock = clock
        self._logs = {projection.context: ContextLog(projection.context, clock) for projection in PROJECTIONS}

    def __getitem__(self, context: str) -> ContextLog:
        return self._logs[context]

    @property
    def told(self) -> list[Told]:
        """Newest first."""
        all_of_them = [told for log in self._logs.values() for told in log.told]
        return sorted(all_of_them, key=lambda told: (told.event.at, *told.place), reverse=True)

    async def project(self, dsn: str) -> None:
        async with Projector(lambda partition: self._logs[partition.context].log, dsn) as projector:

            def is_done() -> bool:
                assert not projector.stopped
                return all(
                    runner.active and runner.checkpoint == self._logs[runner.partition.context].head
                    for runner in projector.runners
                )

            await eventually(is_done)


def at_second(start: datetime) -> Any:
    return lambda n: start + timedelta(seconds=n)
