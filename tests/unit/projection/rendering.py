"""The render queue's fold in memory: events at their seconds in, rows out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from drover.domain.event import Event
from drover.domain.render.events import QueueEvent
from drover.eventlog.codec import Codec
from drover.eventlog.log import StoredCommit
from drover.projector.render import RENDER_PROJECTION
from drover.readmodel.render.queue import AUDIT, RENDERS, RenderRow
from drover.readmodel.table import AppendTable
from tests.unit.projection.folding import CheckedTables

START = datetime(2026, 3, 1, tzinfo=UTC)
SEQ = 7


def second(number: float) -> datetime:
    return START + timedelta(seconds=number)


class RenderTables(CheckedTables):
    def render(self, render_id: int = 1) -> RenderRow:
        return self.row(RENDERS, render_id)

    def appended(self, table: AppendTable) -> list[dict[str, Any]]:
        return [dict(zip(table.columns, row, strict=True)) for row in self.rows(table)]

    @property
    def audit(self) -> list[tuple[str | None, str, str | None, str | None]]:
        return [(row["status_from"], row["status_to"], row["worker_id"], row["reason"]) for row in self.appended(AUDIT)]


def folded(*events: Event | tuple[float, Event]) -> RenderTables:
    """Each at the second that is given with it, or one second after the one before."""
    tables = RenderTables(RENDER_PROJECTION)
    codec = Codec(QueueEvent)
    at = -1.0
    for n, item in enumerate(events, start=1):
        at, event = item if isinstance(item, tuple) else (at + 1, item)
        event.n, event.at, event.by, event.cause = n, second(at), event.by or "service_role", f"command-{n}"
        tables.declared = {(table.name, key_of(event)) for table, key_of in RENDER_PROJECTION.reads[type(event)]}
        tables.fold(StoredCommit(SEQ + n, "c", 1, START, codec.encode([event])))
    return tables
