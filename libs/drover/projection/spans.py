"""The span from a commit to the moment when its rows are readable. Only made while spans are recorded."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import UNSET

from drover.projection.feed import Batch
from drover.service.tracing import COMMIT, record, sampled_place

TRACES_PER_BATCH_MAX: Final = 256
"""How many traces are recorded per batch. A batch of a busy log has thousands of commands; a sample of them is
enough."""
OLD: Final = timedelta(minutes=10)
"""Events older than this get no span: their traces are over, so a rebuild or catch-up records none."""


def traces_of(batch: Batch) -> dict[str, int]:
    """Return, by trace that has events in the batch, the position of its last commit in the batch."""
    found: dict[str, int] = {}
    young = datetime.now(UTC) - OLD
    for commit in batch.commits:
        for event in commit.events:
            if event.trace is not UNSET and event.at > young:
                found[event.trace] = commit.seq
        if len(found) >= TRACES_PER_BATCH_MAX:
            break
    return found


def record_projected(traces: Mapping[str, int], context: str, partition: str, started: float) -> None:
    """Record a span for each of these traces. `started`: when writing the batch began."""
    for header, seq in traces.items():
        command = sampled_place(header)
        if command is not None:
            commit = command.named_child(COMMIT)
            attributes = {"drover.context": context, "drover.partition": partition, "drover.position": seq}
            record(
                f"project {context}",
                commit.named_child("project"),
                commit.span_id,
                started,
                attributes,
                kind="consumer",
            )
