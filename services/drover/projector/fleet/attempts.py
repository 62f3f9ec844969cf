"""The table `tasks_event`, the history of attempts: one row per event of an attempt, which never changes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, NamedTuple

from drover.domain.fleet.events import (
    AttemptCancelled,
    AttemptCreated,
    AttemptEvent,
    AttemptFailed,
    AttemptFailedFinal,
    AttemptRolledBack,
    AttemptSent,
    AttemptStarted,
    AttemptSucceeded,
    AttemptTimedOut,
    RetryScheduled,
    StaleReportRefused,
)
from drover.projection.projection import Position, Tables, row_id
from drover.projector.fleet.assignments import TIMEOUT
from drover.readmodel.fleet.assignments import AssignmentRow
from drover.readmodel.fleet.attempts import TASKS_EVENT

RUN_MAX: Final = 2**31 - 1

INFO: Final = "info"
WARNING: Final = "warning"
ERROR: Final = "error"

Told = tuple[str | None, str | None, datetime | None, str | None, str | None]
"""Columns of a row: error code, message, when the retry is due, reference to a screenshot, activity stack."""

_NOTHING: Final[Told] = (None, None, None, None, None)


class History(NamedTuple):
    """The type, the level and the details of a row of the history, for one type of event."""

    event_type: str
    level: str
    told: Callable[[Any], Told] = lambda event: _NOTHING


def _reason(event: AttemptRolledBack | AttemptCancelled) -> Told:
    return (None, event.reason, None, None, None)


def _failure(event: AttemptFailed) -> Told:
    return (event.code, event.message, None, event.screenshot_ref, event.activity_stack)


def _stale(event: StaleReportRefused) -> Told:
    return (None, f"reported {event.status}, but the current run is {event.current_run}", None, None, None)


HISTORIES: Final[dict[type, History]] = {
    AttemptCreated: History("CREATED", INFO),
    AttemptSent: History("SENT", INFO),
    AttemptStarted: History("ACKED", INFO),
    AttemptSucceeded: History("SUCCEEDED", INFO),
    AttemptFailed: History("FAILED", WARNING, _failure),
    AttemptTimedOut: History("TIMEOUT", WARNING, lambda e: (TIMEOUT, e.message, None, None, None)),
    RetryScheduled: History("RETRY_SCHEDULED", INFO, lambda e: (None, None, e.due, None, None)),
    AttemptFailedFinal: History("FAILED_FINAL", ERROR, lambda e: (e.code, e.message, None, None, None)),
    AttemptRolledBack: History("ROLLED_BACK", WARNING, _reason),
    AttemptCancelled: History("CANCELLED", INFO, _reason),
    StaleReportRefused: History("STALE_REPORT", WARNING, _stale),
}


def append_attempt(
    tables: Tables, event: AttemptEvent, history: History, assignment: AssignmentRow, position: Position
) -> None:
    run = event.run if 0 <= event.run <= RUN_MAX else 0  # in a stale report, the agent can send any number
    row = (
        row_id(position),
        assignment.device_id,
        assignment.pc_id,
        event.attempt,
        run,
        history.event_type,
        history.level,
        *history.told(event),
        event.by,
        event.at,
        assignment.job_id,
        assignment.id,
    )
    tables.append(TASKS_EVENT, row)
