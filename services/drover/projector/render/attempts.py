"""The table `renders_event`: one row per event of an attempt at a render, like `tasks_event` for phones."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, NamedTuple

from drover.domain.render import events as e
from drover.domain.render.policy import Fault
from drover.domain.render.requests import LAPSED
from drover.projection.projection import Position, Tables, row_id
from drover.readmodel.render.attempts import RENDERS_EVENT
from drover.readmodel.render.queue import RenderRow

INFO: Final = "info"
WARNING: Final = "warning"
ERROR: Final = "error"


class Told(NamedTuple):
    event_type: str
    level: str = INFO
    error_code: str | None = None
    message: str | None = None
    due_at: datetime | None = None


def _requeued(event: e.RenderRequeued) -> Told:
    if event.reason == "rerun":
        return Told("CREATED", message=event.message)
    if event.reason == Fault.RENDER_TIMEOUT:
        return Told("TIMEOUT", WARNING, event.reason, event.message)
    if event.reason in _FAULTS:
        return Told("FAILED", WARNING, event.reason, event.message)
    return Told("ROLLED_BACK", WARNING if event.reason == LAPSED else INFO, None, event.message)


def _stale(event: e.StaleRunRefused) -> Told:
    message = f"{event.report} from {event.worker_id}, but the current run is {event.current_run}"
    return Told("STALE_REPORT", WARNING, None, message)


_FAULTS: Final = frozenset(fault.value for fault in Fault)
_TOLD: Final[dict[type, Callable[[Any], Told]]] = {
    e.RenderRequested: lambda event: Told("CREATED"),
    e.RenderClaimed: lambda event: Told("SENT", message="resumed" if event.resumed else None),
    e.RenderSubmitted: lambda event: Told("ACKED"),
    e.RetryScheduled: lambda event: Told("RETRY_SCHEDULED", WARNING, event.fault, event.message, event.due_at),
    e.RenderRequeued: _requeued,
    e.RenderCompleted: lambda event: Told("SUCCEEDED"),
    e.RenderFailed: lambda event: Told("FAILED_FINAL", ERROR, event.fault, event.message),
    e.RenderCancelled: lambda event: Told("CANCELLED", message=event.reason or None),
    e.StaleRunRefused: _stale,
}


def append_attempt(tables: Tables, event: Any, before: RenderRow | None, after: RenderRow, position: Position) -> None:
    """Append the row of an event. Events that are no step of an attempt, such as progress, have no row."""
    tell = _TOLD.get(type(event))
    if tell is None:
        return
    told = tell(event)
    if before is None or told.event_type == "CREATED":
        attempt, run, worker_id = after.generation, 0, None
    else:  # a requeue still belongs to the attempt that it ends
        run, worker_id = event.run, getattr(event, "worker_id", None) or before.worker_id
        attempt = _attempt(before, run)
    tables.append(RENDERS_EVENT, (row_id(position), after.id, attempt, run, worker_id, *told, event.by, event.at))


def _attempt(row: RenderRow, run: int) -> int:
    """Return the generation of a run. Each generation has one nexrender job, and is one attempt."""
    if not 0 < run <= row.run:
        return row.generation
    return 1 + sum(run > last for last in row.generation_ends)
