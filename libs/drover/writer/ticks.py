"""The ticks of a term: says when to put the command `Tick` into the queue, because a deadline of the state has
passed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import structlog
from uuid_utils import uuid7

from drover.bus.messages import Outcome, Rejected, Submission
from drover.domain.decider import Decider, Tick
from drover.writer import metrics
from drover.writer.clock import Clock
from drover.writer.deadlines import PARKED_FOR, Deadlines
from drover.writer.turn import Turn

log = structlog.get_logger("drover.writer")


class TickPending:
    """The command `Tick` in the queue. Nobody waits for its outcome."""

    def __init__(self) -> None:
        self.submission: Submission[Any] = Submission(str(uuid7()), "clock", Tick())

    def settle(self, outcome: Outcome) -> None:
        if isinstance(outcome, Rejected):
            log.error("tick_refused", code=outcome.code, message=outcome.message, alert=True)


class Ticks:
    def __init__(self, decider: Decider[Any], clock: Clock) -> None:
        self._context = decider.context
        self._next_deadline = decider.next_deadline
        self._clock = clock
        self._deadlines = Deadlines(decider.context)
        self._quiet_until_s = float("-inf")

    @property
    def parked_total(self) -> int:
        """How many times a deadline was ignored for PARKED_FOR because a tick had changed nothing."""
        return self._deadlines.parked_total

    def is_due(self, state: Any, now: datetime) -> bool:
        return self._deadlines.is_due(self._deadline_of(state), now)

    def wake_at(self, state: Any) -> datetime | None:
        """Return when the next tick is due. None: the state has no deadline."""
        return self._deadlines.wake_at(self._deadline_of(state))

    def note(self, tick: TickPending, turn: Turn, state: Any, now: datetime) -> None:
        """Note the result of a tick: whether it has recorded events in `turn`, and the next deadline of the state after
        it."""
        headway = any(pending is tick for pending, _ in turn.recorded)
        parked_before = self.parked_total
        self._deadlines.after_tick(self._deadline_of(state), now, made_headway=headway)
        if self.parked_total > parked_before:
            metrics.PARKED.labels(self._context).inc()

    def _deadline_of(self, state: Any) -> datetime | None:
        try:
            return self._next_deadline(state)
        except Exception:
            # Go on as if there were no deadline: no timer of this context fires, but commands are still decided, and
            # the writer does not crash again and again.
            if self._clock.elapsed_s() >= self._quiet_until_s:
                self._quiet_until_s = self._clock.elapsed_s() + PARKED_FOR.total_seconds()
                log.exception("next_deadline_raised", context=self._context, alert=True)
                metrics.PARKED.labels(self._context).inc()
            return None
