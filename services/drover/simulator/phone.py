"""One phone's life: what its agent does next, and when. Time, answers and troubles come from outside; no I/O here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

from drover.simulator.patience import NO_CONNECTION, Answer, Patience
from drover.simulator.script import HEARTBEAT_EVERY_S, Episode, Fault


class Identity(NamedTuple):
    """What a phone is registered with."""

    serial_number: str
    group_id: str
    pc_id: str
    capabilities: tuple[str, ...] = ()


class Heartbeat(NamedTuple):
    """The phone wants to say that it is there."""

    status: Literal["online", "busy"]


Action = Heartbeat
"""All that a phone can want; a union, once there is work."""


class Phone:
    """A state machine. At `due_at` ask for `next_action`; if there was one, tell what became of it with `answered`."""

    __slots__ = ("_episode", "_heartbeat_every_s", "_patience", "_planned_at", "_troubles", "due_at", "identity")

    def __init__(
        self,
        identity: Identity,
        *,
        first_due_at: float = 0.0,
        heartbeat_every_s: float = HEARTBEAT_EVERY_S,
        troubles: Iterator[Episode] | None = None,
    ) -> None:
        self.identity = identity
        self.due_at = first_due_at
        """When to ask next. Infinite while an answer is outstanding."""
        self._planned_at = first_due_at
        self._heartbeat_every_s = heartbeat_every_s
        self._troubles = troubles if troubles is not None else iter(())
        self._episode = next(self._troubles, None)
        self._patience = Patience()

    def next_action(self, now: float) -> Action | None:
        """What the phone does now: an action, or nothing (then `due_at` says when to ask again)."""
        assert self.due_at <= now, (self.identity.serial_number, self.due_at, now)
        episode = self._trouble_at(now)
        if episode is None:
            self._planned_at, self.due_at = self.due_at, math.inf
            return Heartbeat("online")
        if episode.fault.stops_agent:
            self.due_at = episode.end
        else:
            self.due_at = now + self._patience.pause_after(NO_CONNECTION, now)
        return None

    def answered(self, answer: Answer, now: float) -> None:
        """What became of the last action."""
        assert self.due_at == math.inf, self.identity.serial_number
        if self._trouble_at(now) is not None:
            answer = NO_CONNECTION  # the trouble came while the request was under way: this phone hears nothing
        pause_s = self._patience.pause_after(answer, now)
        if pause_s:
            self.due_at = now + pause_s
            return
        # From the plan, not from the answer: a slow platform must not make the phone's clock slow.
        self.due_at = self._planned_at + self._heartbeat_every_s
        if self.due_at <= now:
            self.due_at = now + self._heartbeat_every_s  # what was missed is not sent in a burst

    def fault_at(self, now: float) -> Fault | None:
        """What is wrong with the phone."""
        episode = self._trouble_at(now)
        return None if episode is None else episode.fault

    def _trouble_at(self, now: float) -> Episode | None:
        while self._episode is not None and self._episode.end <= now:
            if self._episode.fault.stops_agent:
                self._patience = Patience()
            self._episode = next(self._troubles, None)
        return self._episode if self._episode is not None and self._episode.start <= now else None
