"""Continues a decision in small steps, each on the state after the previous one, up to a maximum number of events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from drover.domain.decider import NOTHING, Decision
from drover.domain.event import Event

S = TypeVar("S")

Step = Callable[[S, datetime, int], list[Event]]
"""A step gets the state, the time and the maximum number of events. It returns its events, or none if it has nothing to
do."""


def take_steps(steps: Sequence[Step[S]], *, events_max: int) -> Callable[[S, datetime], Decision]:
    """Make a function for `Decision.then` that takes the first step that has something to do, then starts over with the
    first step. It ends when no step has anything to do, or at the maximum number of events."""

    def carry_on(state: S, now: datetime) -> Decision:
        if events_max <= 0:
            return NOTHING
        for step in steps:
            if events := step(state, now, events_max):
                return Decision(events=events, then=take_steps(steps, events_max=events_max - len(events)))
        return NOTHING

    return carry_on
