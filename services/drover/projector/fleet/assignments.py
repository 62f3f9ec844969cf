"""Rows of assignments (one job on one device), from request to end. The history of their attempts is in
`attempts.py`."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace

from drover.domain.fleet.events import (
    AssignmentCancelled,
    AssignmentEvent,
    AssignmentParked,
    AssignmentReopened,
    AssignmentRequested,
    AttemptCancelled,
    AttemptCreated,
    AttemptErrorNoted,
    AttemptFailed,
    AttemptFailedFinal,
    AttemptProgressed,
    AttemptRolledBack,
    AttemptSent,
    AttemptStarted,
    AttemptSucceeded,
    AttemptTimedOut,
    RetryScheduled,
    StaleReportRefused,
)
from drover.domain.fleet.policy import RULES as ERROR_RULES
from drover.domain.fleet.state import AssignmentStatus, Phase
from drover.projection.projection import Tables, change, need
from drover.projection.rule import Rule, Rules, change_no_row
from drover.projector.fleet.devices import free_slot, set_running, take_slot
from drover.projector.fleet.jobs import cancelled_as, count
from drover.projector.fleet.keys import assignment_of, device_of, job_of
from drover.readmodel.fleet.assignments import ASSIGNMENTS, AssignmentRow
from drover.readmodel.fleet.devices import DEVICES
from drover.readmodel.fleet.jobs import JOBS

# The values of enums, looked up once, because they are needed for every event.
WAITING: Final = Phase.WAITING.value
RETRYING: Final = Phase.RETRYING.value
OFFERED: Final = Phase.OFFERED.value
SENT: Final = Phase.SENT.value
RUNNING: Final = Phase.RUNNING.value
PENDING: Final = AssignmentStatus.PENDING
COMPLETED: Final = AssignmentStatus.COMPLETED
FAILED: Final = AssignmentStatus.FAILED
CANCELLED: Final = AssignmentStatus.CANCELLED
TIMEOUT: Final = ERROR_RULES["TIMEOUT"].code


_COUNTED_AS: Final = {
    WAITING: "pending",
    OFFERED: "pending",
    SENT: "pending",
    RETRYING: "retrying",
    RUNNING: "running",
    COMPLETED: "completed",
    FAILED: "failed",
}


def counted_as(row: AssignmentRow) -> str:
    """Return the name of the job's counter for this assignment, which must not be cancelled. An assignment that waits
    for its device after a failure counts as `retrying`."""
    if row.phase == WAITING and row.retry_count:
        return "retrying"
    return _COUNTED_AS[row.phase]


def _change(tables: Tables, event: AssignmentEvent, **changes: Any) -> None:
    """Change the row of an assignment without changing the job's counters."""
    change(tables, ASSIGNMENTS, assignment_of(event), updated_at=event.at, **changes)


def _move(tables: Tables, event: AssignmentEvent, status: str, phase: str, **changes: Any) -> AssignmentRow:
    before = need(tables, ASSIGNMENTS, assignment_of(event))
    after = replace(before, status=status, phase=phase, updated_at=event.at, **changes)
    tables.put(ASSIGNMENTS, after)
    # A cancelled assignment is opened again only with its job, and the job no longer counts it then.
    counted_before = None if before.phase == CANCELLED else counted_as(before)
    count(tables, after.job_id, counted_before, _counter(tables, after))
    return after


def _counter(tables: Tables, row: AssignmentRow) -> str | None:
    if row.phase == CANCELLED:
        return cancelled_as(need(tables, JOBS, row.job_id), row.reason or "")
    return counted_as(row)


_AGAIN: Final[dict[str, Any]] = {
    "progress_pct": 0,
    "ad_playing": False,
    "sent_at": None,
    "timeout_at": None,
    "started_at": None,
    "completed_at": None,
    "retry_due_at": None,
}
"""Values for the columns that are reset when an assignment becomes pending again: the next attempt starts from the
beginning."""


def _wait(tables: Tables, event: AssignmentEvent, at: datetime | None = None, **changes: Any) -> None:
    """Make the assignment pending, and free its device. `at`: the new `updated_at` of the device; None: it stays the
    same."""
    row = _move(tables, event, PENDING, WAITING, assigned_at=None, **_AGAIN, **changes)
    free_slot(tables, row.device_id, row.id, at)


def _end(tables: Tables, event: AssignmentEvent, status: str, **changes: Any) -> None:
    row = _move(tables, event, status, status, completed_at=event.at, ad_playing=False, retry_due_at=None, **changes)
    free_slot(tables, row.device_id, row.id, event.at)


def _make(tables: Tables, event: AssignmentEvent, pc_id: str, **fields: Any) -> None:
    row = AssignmentRow(
        assignment_of(event),
        job_of(event),
        device_of(event),
        pc_id,
        event.at,
        event.at,
        **fields,
    )
    tables.put(ASSIGNMENTS, row)
    count(tables, row.job_id, None, counted_as(row))


def _requested(tables: Tables, event: AssignmentRequested) -> None:
    _make(tables, event, need(tables, DEVICES, device_of(event)).pc_id, named=True)


def _reopened(tables: Tables, event: AssignmentReopened) -> None:
    failed = need(tables, ASSIGNMENTS, assignment_of(event)).retry_count
    _wait(tables, event, named=True, attempt=failed + 1, reason=None)


def _parked(tables: Tables, event: AssignmentParked) -> None:
    _wait(tables, event, reason=event.reason)


def _cancelled(tables: Tables, event: AssignmentCancelled) -> None:
    _end(tables, event, CANCELLED, reason=event.reason)


def _created(tables: Tables, event: AttemptCreated) -> None:
    offer = {"run": event.run, "attempt": event.attempt, "assigned_at": event.at}
    if tables.get(ASSIGNMENTS, assignment_of(event)) is None:
        _make(tables, event, event.pc_id, status=PENDING, phase=OFFERED, **offer)
    else:
        _move(tables, event, PENDING, OFFERED, pc_id=event.pc_id, reason=None, **_AGAIN, **offer)
    take_slot(tables, device_of(event), assignment_of(event))


def _sent(tables: Tables, event: AttemptSent) -> None:
    _change(tables, event, phase=SENT, sent_at=event.at, timeout_at=event.timeout_at)  # still counted as pending


def _started(tables: Tables, event: AttemptStarted) -> None:
    row = _move(
        tables,
        event,
        RUNNING,
        RUNNING,
        started_at=event.at,
        timeout_at=event.timeout_at,
        progress_pct=event.progress_pct,
    )
    set_running(tables, row.device_id, True, event.at)


def _progressed(tables: Tables, event: AttemptProgressed) -> None:
    _change(tables, event, progress_pct=event.progress_pct, ad_playing=event.ad_playing)


def _error_noted(tables: Tables, event: AttemptErrorNoted) -> None:
    _change(tables, event, error_code=event.code, error_message=event.message)


def _succeeded(tables: Tables, event: AttemptSucceeded) -> None:
    _end(
        tables,
        event,
        COMPLETED,
        progress_pct=100,
        actual_duration_sec=event.actual_duration_sec,
        did_like=event.did_like,
        did_comment=event.did_comment,
        did_playlist=event.did_playlist,
        error_code=None,
        error_message=None,
        timed_out=False,
        assigned_at=event.assigned_at,
        started_at=event.started_at,
    )


def _failed(tables: Tables, event: AttemptFailed) -> None:
    _note_failure(tables, event, event.code, event.message, timed_out=False)


def _timed_out(tables: Tables, event: AttemptTimedOut) -> None:
    _note_failure(tables, event, TIMEOUT, event.message, timed_out=True)


def _note_failure(
    tables: Tables, event: AttemptFailed | AttemptTimedOut, code: str, message: str | None, *, timed_out: bool
) -> None:
    """Record the failure of an attempt. The next event of the same commit says whether the assignment is retried."""
    row = _move(
        tables,
        event,
        PENDING,
        RETRYING,
        retry_count=event.attempt,
        error_code=code,
        error_message=message,
        timed_out=timed_out,
        progress_pct=0,
        ad_playing=False,
    )
    set_running(tables, row.device_id, False, event.at)


def _retry_scheduled(tables: Tables, event: RetryScheduled) -> None:
    attempt = need(tables, ASSIGNMENTS, assignment_of(event)).retry_count + 1
    if event.due is None:
        _wait(tables, event, attempt=attempt)
    else:
        _move(tables, event, PENDING, RETRYING, attempt=attempt, **{**_AGAIN, "retry_due_at": event.due})


def _failed_final(tables: Tables, event: AttemptFailedFinal) -> None:
    _end(
        tables,
        event,
        FAILED,
        attempt=event.attempt,
        retry_count=event.attempt,
        error_code=event.code,
        error_message=event.message,
    )


def _rolled_back(tables: Tables, event: AttemptRolledBack) -> None:
    _wait(tables, event, event.at, reason=event.reason)


def _attempt_cancelled(tables: Tables, event: AttemptCancelled) -> None:
    _wait(tables, event, reason=event.reason)


def _entities(event: AssignmentEvent) -> tuple[str, ...]:
    return (event.assignment_id, event.job_id, event.device_id)


_ITSELF: Final = ((ASSIGNMENTS, assignment_of),)
_NEW: Final = ((DEVICES, device_of), (JOBS, job_of))
_ALL: Final = (*_ITSELF, *_NEW)

ASSIGNMENT_RULES: Final[Rules] = {
    AssignmentRequested: Rule(_requested, _entities, _NEW),
    AssignmentReopened: Rule(_reopened, _entities, _ALL),
    AssignmentParked: Rule(_parked, _entities, _ALL),
    AssignmentCancelled: Rule(_cancelled, _entities, _ALL),
    AttemptCreated: Rule(_created, lambda e: (*_entities(e), e.pc_id), _ALL),
    AttemptSent: Rule(_sent, _entities, _ITSELF),
    AttemptStarted: Rule(_started, _entities, _ALL),
    AttemptProgressed: Rule(_progressed, _entities, _ITSELF),
    AttemptErrorNoted: Rule(_error_noted, _entities, _ITSELF),
    AttemptSucceeded: Rule(_succeeded, _entities, _ALL),
    AttemptFailed: Rule(_failed, _entities, _ALL),
    AttemptTimedOut: Rule(_timed_out, _entities, _ALL),
    AttemptRolledBack: Rule(_rolled_back, _entities, _ALL),
    AttemptCancelled: Rule(_attempt_cancelled, _entities, _ALL),
    RetryScheduled: Rule(_retry_scheduled, _entities, _ALL),
    AttemptFailedFinal: Rule(_failed_final, _entities, _ALL),
    StaleReportRefused: Rule(change_no_row, _entities, _ITSELF),
}
