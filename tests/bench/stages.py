"""Where the time of a change goes, from the decision of its command to the frame that shows it, stage by stage."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from time import time
from typing import NamedTuple, TypeVar

from nats.aio.client import Client

from drover.bus.rows import RowsChanged, RowsHeartbeat, following_rows
from drover.readmodel.form import schema_of
from tests.bench.changes import Change

RELATION = "job_assignments"
"""The relation that most changes of a phone are told by."""

T = TypeVar("T", bound=tuple)

STAGES = ("in the log", "in the table", "on the bus", "in the page", "in the DOM", "on screen")


class Published(NamedTuple):
    """One message about changed rows."""

    to: int
    committed_ms: float
    """When its rows were committed in Postgres."""
    heard_ms: float


class Received(NamedTuple):
    """A message about changed rows, in the page."""

    to: int
    ms: float


class Seen(NamedTuple):
    """What a phone showed, from a moment on."""

    phase: str
    progress: int
    drawn_ms: float
    """When the document had it."""
    shown_ms: float
    """When the frame with it was out."""


@asynccontextmanager
async def noting_rows(client: Client) -> AsyncIterator[list[Published]]:
    """The messages about the rows that phones are drawn from, while the block runs."""
    published: list[Published] = []

    def on_changed(context: str, relation: str, message: RowsChanged) -> None:
        if relation == RELATION and message.at is not None:
            published.append(Published(message.to, message.at.timestamp() * 1000, time() * 1000))

    def on_heartbeat(context: str, message: RowsHeartbeat) -> None:
        pass

    async with following_rows(client, {"fleet": schema_of("fleet")}, on_changed, on_heartbeat):
        yield published


def first_shown(change: Change, later: Sequence[Change], seen: Sequence[Seen]) -> Seen | None:
    """The first frame that shows the change, or one that came after it."""
    at_ms = change.at.timestamp() * 1000
    wanted = {(other.phase, other.progress) for other in (change, *later)}
    return next((one for one in seen if (one.phase, one.progress) in wanted and one.shown_ms >= at_ms), None)


def stages_ms(
    change: Change, shown: Seen, published: Sequence[Published], received: Sequence[Received]
) -> tuple[float, ...] | None:
    """How long each stage took. None: the change was not seen in each of them."""
    message = _covering(change.seq, published)
    page = _covering(change.seq, received)
    if message is None or page is None:
        return None
    begin = change.at.timestamp() * 1000
    ends = (change.logged_ms, message.committed_ms, message.heard_ms, page.ms, shown.drawn_ms, shown.shown_ms)
    return tuple(end - start for start, end in zip((begin, *ends), ends, strict=False))


def _covering(seq: int, messages: Sequence[T]) -> T | None:
    """The first message whose position is that of the commit or later. They are in order."""
    found = bisect_left(messages, seq, key=lambda message: message[0])
    return messages[found] if found < len(messages) else None


def percentile(values: Sequence[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def table(rows: Sequence[tuple[float, ...]]) -> str:
    """p50 and p95 of each stage."""
    columns: Mapping[str, Sequence[float]] = dict(zip(STAGES, zip(*rows, strict=True), strict=True))
    return ", ".join(f"{name} {percentile(ms, 50):.0f}/{percentile(ms, 95):.0f}" for name, ms in columns.items())
