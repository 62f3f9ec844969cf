"""Gives the callers of a turn their outcomes, once it is certain that they are right: the commit is stored, or the
lease is valid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import structlog

from drover.bus.messages import NOT_LEADER, Accepted, Outcome, Rejected
from drover.domain.decider import Decider, Rejection
from drover.domain.errors import Code
from drover.domain.event import Event
from drover.eventlog.codec import Codec
from drover.eventlog.log import EventLog
from drover.service import tracing
from drover.writer import metrics
from drover.writer.lease import Lease
from drover.writer.repeats import Repeats
from drover.writer.spans import record_committed
from drover.writer.turn import Turn

log = structlog.get_logger("drover.writer")


class Answers:
    def __init__(self, decider: Decider[Any], event_log: EventLog, lease: Lease, codec: Codec) -> None:
        self._context = decider.context
        self._partition = event_log.partition
        self._lease = lease
        self._result_of = decider.answer
        self._repeats = Repeats(event_log, codec, self._outcome_of)

    def give(self, turn: Turn) -> None:
        """Answer the commands of a turn. Call it only when the turn's events, if it has any, are stored."""
        context, seq = self._context, turn.mark.seq
        if turn.recorded:
            outcome_of = self._outcome_of
            for pending, events in turn.recorded:
                pending.settle(outcome_of(events, seq))
            metrics.COMMANDS.labels(context, "committed").inc(len(turn.recorded))
            if tracing.recorder is not None:
                record_committed(turn, self._partition)
        if not (turn.answered or turn.repeated):
            return
        # Refusals and reads need no commit of ours, but they are right only while we hold the lease. Repeats are
        # answered from the log.
        valid = self._lease.is_valid()
        for pending, outcome in turn.answered:
            pending.settle(outcome if valid else NOT_LEADER)
            if type(outcome) is Rejected:
                metrics.REFUSALS.labels(context, outcome.code).inc()
        metrics.COMMANDS.labels(context, "answered" if valid else "not_leader").inc(len(turn.answered))
        if turn.repeated:
            self._repeats.answer(turn.repeated)
            metrics.COMMANDS.labels(context, "repeated").inc(len(turn.repeated))

    async def close(self) -> None:
        """Stop looking up the outcomes of repeated commands. Their callers get NOT_LEADER and ask again."""
        await self._repeats.close()

    def _outcome_of(self, events: Sequence[Event], seq: int) -> Outcome:
        """Make the outcome of a recorded command from its events alone, so that a repeat gets the same outcome."""
        try:
            result = self._result_of(events)
            if type(result) is Rejection:
                return Rejected(result.code, result.message, result.details, seq)
            return Accepted(seq, result)
        except Exception:
            # The command took effect; only its result could not be built.
            log.exception("answer_raised", context=self._context)
            return Rejected(Code.INTERNAL, "The command took effect, but its result could not be built", None, seq)
