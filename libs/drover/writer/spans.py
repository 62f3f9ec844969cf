"""The spans of a writer: the decision of a command, and its commit. Only made while spans are recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import UNSET

from drover.eventlog.log import Partition
from drover.service.tracing import COMMIT, Trace, record, sampled_place
from drover.writer.intake import Pending
from drover.writer.turn import Turn

SPANS_PER_TURN_MAX: Final = 256
"""The maximum number of spans per turn. A turn may have thousands of commands; a sample of them is enough."""


def record_decided(taken: Sequence[Pending], context: str, started: float) -> None:
    """Record a span for each decided command. Commands of a turn are decided without a pause, so all their spans have
    the same times."""
    for pending, place in _traced(taken):
        command = type(pending.submission.command).__name__
        attributes = {"drover.context": context, "drover.command": command, "drover.turn.commands": len(taken)}
        record(f"decide {command}", place.child(), place.span_id, started, attributes)


def record_committed(turn: Turn, partition: Partition) -> None:
    for _, place in _traced([pending for pending, _ in turn.recorded[:SPANS_PER_TURN_MAX]]):
        attributes = {
            "drover.context": partition.context,
            "drover.partition": partition.name,
            "drover.position": turn.mark.seq,
            "drover.commit.commands": len(turn.recorded),
            "drover.commit.events": turn.events,
        }
        record(
            f"commit {partition.context}",
            place.named_child(COMMIT),
            place.span_id,
            turn.sent_at,
            attributes,
            ended=turn.landed_at,
        )


def _traced(taken: Sequence[Pending]) -> list[tuple[Pending, Trace]]:
    found = []
    for pending in taken[:SPANS_PER_TURN_MAX]:
        header = pending.submission.trace
        place = None if header is UNSET else sampled_place(header)
        if place is not None:
            found.append((pending, place))
    return found
