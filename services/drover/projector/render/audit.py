"""The history of renders, `render_queue_audit`: one immutable row per change of status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from drover.domain.render import events as e
from drover.projection.projection import Position, Tables
from drover.readmodel.render.queue import AUDIT, RenderRow

LINES_PER_COMMIT_MAX: Final = 1 << 16
"""An id is the commit's sequence times this, plus the line. A commit of 256 KiB has far fewer lines."""

_REASONS: Final[dict[type, Callable[[Any], str | None]]] = {
    e.RenderClaimed: lambda event: "resumed" if event.resumed else None,
    e.RenderRequeued: lambda event: event.reason,
    e.RenderFailed: lambda event: event.fault,
    e.RenderCancelled: lambda event: event.reason or None,
}


def append_change(
    tables: Tables, event: e.RenderEvent, before: RenderRow | None, after: RenderRow, position: Position
) -> None:
    """Adds nothing if the status is the same."""
    if before is not None and before.status == after.status:
        return
    seq, line = position
    reason = _REASONS.get(type(event))
    row = (
        seq * LINES_PER_COMMIT_MAX + line,
        None if before is None else before.status,
        after.status,
        after.worker_id or (None if before is None else before.worker_id),
        event.at,
        event.by,
        None if reason is None else reason(event),
        after.id,
    )
    tables.append(AUDIT, row)
