"""How many events a person may cause in a day: those who sign up by themselves must not be able to fill the log."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from typing import Any, Final, Protocol

import msgspec

from drover.domain.decider import Decision, Rejection
from drover.domain.errors import Code
from drover.domain.event import Event

PERSON: Final = "user:"
"""The actor of an event (`by`) that a person caused begins with this."""
PEOPLE_MAX: Final = 100_000
"""How many people are counted in a day. Beyond it, further people have no quota on that day; memory stays bounded."""


class DailyUse(msgspec.Struct):
    """How many events each person has caused on the last day (UTC) on which somebody caused one."""

    day: int = 0
    """The number of that day, as `date.toordinal` counts."""
    events: dict[str, int] = {}
    """By user id, the number of events on that day."""

    def note(self, event: Event) -> None:
        """Count an event, if a person caused it. Called by a context's `evolve`."""
        if not event.by.startswith(PERSON):
            return
        day = event.at.toordinal()
        if day > self.day:
            self.day, self.events = day, {}
        user_id = event.by[len(PERSON) :]
        if user_id in self.events or len(self.events) < PEOPLE_MAX:
            self.events[user_id] = self.events.get(user_id, 0) + 1

    def refusal(self, user_id: str, quota: int | None, now: datetime) -> Rejection | None:
        """Return why the user may cause no more events today. None: they may."""
        # `day` may be later than today: it comes from the partition's time, which may be ahead of the wall clock.
        if quota is None or self.day < now.toordinal() or self.events.get(user_id, 0) < quota:
            return None
        ends = datetime.combine(date.fromordinal(self.day + 1), time.min, UTC)
        details = {"user_id": user_id, "quota": quota, "retry_after_s": math.ceil((ends - now).total_seconds())}
        return Rejection(Code.RATE_LIMITED, f"You have reached the maximum of {quota} changes in a day", details)


class CountsUse(Protocol):
    use: DailyUse


def within_quota(rule: Callable[..., Decision]) -> Callable[..., Decision]:
    """Wrap a rule: refuse the command if its user has already caused as many events today as the command's `quota`
    allows."""

    def decide(state: CountsUse, command: Any, now: datetime, *more: Any) -> Decision:
        if (refusal := state.use.refusal(command.user_id, command.quota, now)) is not None:
            return Decision(rejection=refusal)
        return rule(state, command, now, *more)

    return decide
