"""The render queue's fold in memory: events at their seconds in, rows out."""

from __future__ import annotations

from datetime import datetime, timedelta

from drover.domain.event import Event
from drover.projector.render import RENDER_PROJECTION
from drover.readmodel.render.queue import AUDIT, RENDERS, RenderRow
from tests.unit.projection.checked_tables import START, CheckedTables

SEQ = 7


def second(number: float) -> datetime:
    return START + timedelta(seconds=number)


class RenderTables(CheckedTables):
    def render(self, render_id: int = 1) -> RenderRow:
        return self.row(RENDERS, render_id)

    @property
    def audit(self) -> list[tuple[str | None, str, str | None, str | None]]:
        return [(row["status_from"], row["status_to"], row["worker_id"], row["reason"]) for row in self.shown(AUDIT)]


def folded(*events: Event | tuple[float, Event]) -> RenderTables:
    """Each at the second that is given with it, or one second after the one before."""
    tables = RenderTables(RENDER_PROJECTION)
    at = -1.0
    for n, item in enumerate(events, start=1):
        at, event = item if isinstance(item, tuple) else (at + 1, item)
        event.n, event.at, event.by, event.cause = n, second(at), event.by or "service_role", f"command-{n}"
        tables.fold_events(SEQ + n, event)
    return tables
