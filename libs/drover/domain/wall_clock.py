"""Lets the rules of a context run on the wall clock instead of the partition's time. It is for contexts whose moments
people and other programs compare with their own clocks: alarms, the expiry of sessions.

Usually both times are equal. After a clock was ahead, the partition's time stays ahead by `TermStarted.ahead_s`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from drover.domain.decider import Decision
from drover.domain.event import TermStarted


class KnowsWallClock(Protocol):
    """The part of a state that says how many seconds the partition's time is ahead of the wall clock in this term."""

    ahead_s: float


W = TypeVar("W", bound=KnowsWallClock)


def wall_time(state: KnowsWallClock, now: datetime) -> datetime:
    """Convert the partition's time to the wall clock's."""
    return now - timedelta(seconds=state.ahead_s)


def partition_time(state: KnowsWallClock, moment: datetime) -> datetime:
    """Convert a time of the wall clock to the partition's."""
    return moment + timedelta(seconds=state.ahead_s)


def on_wall_clock(decide: Callable[[W, Any, datetime], Decision]) -> Callable[[W, Any, datetime], Decision]:
    """Wrap a `decide`: its rules and their follow-up decisions get the wall clock's time instead of the partition's."""

    def decide_on_wall_clock(state: W, command: Any, now: datetime) -> Decision:
        if not state.ahead_s:
            return decide(state, command, now)
        return _convert_follow_ups(decide(state, command, wall_time(state, now)))

    return decide_on_wall_clock


def _convert_follow_ups(decision: Decision) -> Decision:
    then = decision.then
    if then is None:
        return decision
    return replace(decision, then=lambda state, now: _convert_follow_ups(then(state, wall_time(state, now))))


def deadline_on_wall_clock(next_deadline: Callable[[W], datetime | None]) -> Callable[[W], datetime | None]:
    """Wrap a `next_deadline` that returns a time of the wall clock: convert the result to the partition's time."""

    def next_deadline_of_partition(state: W) -> datetime | None:
        moment = next_deadline(state)
        return None if moment is None else partition_time(state, moment)

    return next_deadline_of_partition


def note_ahead(state: KnowsWallClock, event: TermStarted) -> timedelta:
    """Store in the state how far the partition's time is ahead of the wall clock. Return by how much the wall clock was
    set back since the previous term; 0 if it was not. Times that were computed as "in ten minutes" must come earlier by
    as much."""
    set_back = timedelta(seconds=max(0.0, event.ahead_s - state.ahead_s))
    state.ahead_s = event.ahead_s
    return set_back
