"""The table `render_queue_audit`, the history of renders: one row per change of status, which never changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from drover.domain.render import events as e
from drover.projection.projection import Position, Tables, row_id
from drover.readmodel.render.queue import AUDIT, RenderRow

_REASONS: Final[dict[type, Callable[[Any], str | None]]] = {
    e.RenderClaimed: lambda event: "resumed" if event.resumed else None,
    e.RenderRequeued: lambda event: event.reason,
    e.RenderFailed: lambda event: event.fault,
    e.RenderCancelled: lambda event: event.reason or None,
}


def append_change(
    tables: Tables, event: e.RenderEvent, before: RenderRow | None, after: RenderRow, position: Position
) -> None:
    """Add a row if the event has changed the render's status."""
    if before is not None and before.status == after.status:
        return
    reason = _REASONS.get(type(event))
    row = (
        row_id(position),
        None if before is None else before.status,
        after.status,
        after.worker_id or (None if before is None else before.worker_id),
        event.at,
        event.by,
        None if reason is None else reason(event),
        after.id,
    )
    tables.append(AUDIT, row)
