"""Continues a decision in small steps, each on the state after the previous one, up to a bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from drover.domain.decider import NOTHING, Decision
from drover.domain.event import Event

S = TypeVar("S")

Step = Callable[[S, datetime, int], list[Event]]
"""Returns at most the given number of events; none if it has nothing to do."""


def take_steps(steps: Sequence[Step[S]], *, events_max: int) -> Callable[[S, datetime], Decision]:
    """Take the first step that has something to do, and then begin again, until none has or the bound is reached."""

    def carry_on(state: S, now: datetime) -> Decision:
        if events_max <= 0:
            return NOTHING
        for step in steps:
            if events := step(state, now, events_max):
                return Decision(events=events, then=take_steps(steps, events_max=events_max - len(events)))
        return NOTHING

    return carry_on
