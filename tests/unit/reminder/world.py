"""A reminder context without a server: partitions that decide in memory, behind the face of the command bus."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.decider import Rejection
from drover.domain.errors import Code
from drover.domain.partitions import partition_names, partition_of
from drover.domain.reminder import REMINDER
from drover.domain.reminder.state import Reminders
from drover.reminder.notification import Delivered, Notification
from tests.unit.wire import on_the_wire

PARTITIONS = partition_names(4)
NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


class LocalBus:
    """Decides as a writer would, one command at a time, and remembers ids."""

    def __init__(self, clock: Callable[[], datetime] = lambda: NOW) -> None:
        self.clock = clock
        self.states: dict[str, Reminders] = {name: REMINDER.initial() for name in PARTITIONS}
        self.sent: list[tuple[str, Any]] = []
        self.ids: list[str | None] = []
        self.refuse_with: list[Outcome] = []
        """Outcomes for the next commands, whatever they are."""
        self._told: dict[str, Outcome] = {}
        self._seq = 0

    def state_of(self, user_id: str) -> Reminders:
        return self.states[partition_of(user_id, PARTITIONS)]

    async def send(self, context, command, *, by, id=None, trace=None, partition="main") -> Outcome:
        assert context == "reminder"
        command = on_the_wire(command, REMINDER.commands)
        self.sent.append((partition, command))
        self.ids.append(id)
        if self.refuse_with:
            return self.refuse_with.pop(0)
        key, _, digest = (id or "").partition("~")
        if (known := self._told.get(key)) is not None:
            before, outcome = known
            return outcome if before == digest else Rejected(Code.IDEMPOTENCY_MISMATCH, "another body")
        outcome, events = self._decide(partition, command, by)
        outcome = on_the_wire(outcome, Outcome)
        if events and key:
            self._told[key] = (digest, outcome)
        return outcome

    def _decide(self, partition, command, by):
        state = self.states[partition]
        decision, events = REMINDER.decide(state, command, self.clock()), []
        refused, result = decision.rejection, decision.result
        while True:
            for event in decision.events:
                event.at, event.by = self.clock(), by
                REMINDER.evolve(state, event)
            events += decision.events
            if decision.then is None:
                break
            decision = decision.then(state, self.clock())
        if not events:
            return (
                Accepted(0, result) if refused is None else Rejected(refused.code, refused.message, refused.details)
            ), []
        self._seq += 1
        told = REMINDER.answer(events)
        if isinstance(told, Rejection):
            return Rejected(told.code, told.message, told.details, self._seq), events
        return Accepted(self._seq, told), events


class ScriptedProvider:
    """Says what it is told to, and remembers what it was given."""

    name = "scripted"

    def __init__(self, *outcomes: Any) -> None:
        self.outcomes = list(outcomes)
        self.sent: list[Notification] = []

    @asynccontextmanager
    async def running(self):
        yield

    async def send(self, notification: Notification):
        self.sent.append(notification)
        outcome = self.outcomes.pop(0) if self.outcomes else Delivered(notification_id=f"n-{len(self.sent)}")
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def notification(**fields: Any) -> Notification:
    return Notification(
        **{
            "key": "page-1:1",
            "page_id": "page-1",
            "user_id": "user_1",
            "title": "제목",
            "body": "본문",
            "sent_count": 1,
            **fields,
        }
    )
