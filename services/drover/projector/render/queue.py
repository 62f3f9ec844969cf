"""Rows of renders: the state of each, and its time in each stage. The history is in `audit`."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from drover.domain.render import events as e
from drover.domain.render.policy import Fault
from drover.domain.render.state import RenderPurpose, Status
from drover.domain.spec import fields_of
from drover.projection.projection import Tables, change, need
from drover.projection.rule import Rule, Rules, change_no_row
from drover.readmodel.render.queue import GFX, RENDERS, RenderRow

PENDING: Final = Status.PENDING
PREPARING: Final = Status.PREPARING
RENDERING: Final = Status.RENDERING
ENCODING: Final = Status.ENCODING
UPLOADING: Final = Status.UPLOADING
COMPLETED: Final = Status.COMPLETED
FAILED: Final = Status.FAILED
CANCELLED: Final = Status.CANCELLED

MEASURED: Final = {stage: f"{stage}_seconds" for stage in (PREPARING, RENDERING, ENCODING, UPLOADING)}
"""The stages that are timed, each with the column for its total time."""


_NEW_JOB: Final[dict[str, Any]] = {
    "progress": 0,
    "nexrender_job_id": None,
    "started_at": None,
    "unmapped_fields": [],
    "completed_at": None,
    **dict.fromkeys(MEASURED.values()),
}
"""Values for the columns that are reset when the render becomes a new job at nexrender."""


def _requested(tables: Tables, event: e.RenderRequested) -> None:
    row = RenderRow(
        id=event.render_id,
        composition_name=event.composition,
        **fields_of(RenderPurpose, event),
        created_at=event.at,
        updated_at=event.at,
        stage_since=event.at,
    )
    tables.put(RENDERS, row)
    tables.append(GFX, (event.render_id, event.gfx_id, event.gfx_data))


def _change(tables: Tables, event: e.RenderEvent, **changes: Any) -> None:
    change(tables, RENDERS, event.render_id, updated_at=event.at, **changes)


def _enter(tables: Tables, event: e.RenderEvent, status: str, **changes: Any) -> None:
    """Set the status of the render. If it changes, add the time since the last change to the total of the stage that
    ends."""
    row = need(tables, RENDERS, event.render_id)
    if row.status != status:
        if (column := MEASURED.get(row.status)) is not None:
            spent = (event.at - row.stage_since).total_seconds()
            row = replace(row, **{column: (getattr(row, column) or 0.0) + spent})
        row = replace(row, status=status, stage_since=event.at)
    tables.put(RENDERS, replace(row, updated_at=event.at, retry_due_at=None, **changes))


def _claimed(tables: Tables, event: e.RenderClaimed) -> None:
    lease = event.lease_until
    _enter(
        tables,
        event,
        PREPARING,
        run=event.run,
        worker_id=event.worker_id,
        lock_expires_at=lease,
        external=event.external,
    )


def _renewed(tables: Tables, event: e.LeaseRenewed) -> None:
    _change(tables, event, lock_expires_at=event.lease_until)


def _submitted(tables: Tables, event: e.RenderSubmitted) -> None:
    started_at = need(tables, RENDERS, event.render_id).started_at or event.at
    _enter(tables, event, RENDERING, nexrender_job_id=event.nexrender_job_id or None, started_at=started_at)


def _progressed(tables: Tables, event: e.RenderProgressed) -> None:
    _change(tables, event, progress=event.progress, retry_due_at=None)


def _encoding(tables: Tables, event: e.EncodingStarted) -> None:
    _enter(tables, event, ENCODING, progress=event.progress)


def _uploading(tables: Tables, event: e.UploadStarted) -> None:
    _enter(tables, event, UPLOADING, progress=100)


def _unmapped(tables: Tables, event: e.FieldsUnmapped) -> None:
    _change(tables, event, unmapped_fields=event.fields)


def _retry(tables: Tables, event: e.RetryScheduled) -> None:
    _change(tables, event, error_code=event.fault, error_message=event.message, retry_due_at=event.due_at)


def _requeued(tables: Tables, event: e.RenderRequeued) -> None:
    _enter(tables, event, PENDING, worker_id=None, lock_expires_at=None, recovery_count=event.recovery_count)
    row = need(tables, RENDERS, event.render_id)
    if event.generation != row.generation:
        ends = [*row.generation_ends, event.run]
        _change(tables, event, generation=event.generation, generation_ends=ends, **_NEW_JOB)
    if event.reason == "rerun":
        _change(tables, event, error_code=None, error_message=None)
    elif event.reason in _FAULTS:
        _change(tables, event, error_code=event.reason, error_message=event.message)


_FAULTS: Final = frozenset(fault.value for fault in Fault)


def _completed(tables: Tables, event: e.RenderCompleted) -> None:
    _enter(
        tables,
        event,
        COMPLETED,
        progress=100,
        lock_expires_at=None,
        output_file_path=event.output_file_path or None,
        output_size_bytes=event.size_bytes or None,
        output_sha256=event.sha256 or None,
        error_code=None,
        error_message=None,
        completed_at=event.at,
        duration_seconds=event.duration_seconds,
    )


def _failed(tables: Tables, event: e.RenderFailed) -> None:
    _enter(tables, event, FAILED, lock_expires_at=None, error_code=event.fault, error_message=event.message)


def _cancelled(tables: Tables, event: e.RenderCancelled) -> None:
    _enter(tables, event, CANCELLED, lock_expires_at=None)


def _about(event: Any) -> tuple[str, ...]:
    """Return the ids that the event is about: the render's, and the worker's if the event has one."""
    worker_id = getattr(event, "worker_id", None)
    return (str(event.render_id),) if worker_id is None else (str(event.render_id), worker_id)


_ROW: Final = ((RENDERS, lambda event: event.render_id),)

RENDER_RULES: Final[Rules] = {
    e.RenderRequested: Rule(_requested, lambda event: (str(event.render_id), event.composition_id), _ROW),
    e.RenderClaimed: Rule(_claimed, _about, _ROW),
    e.LeaseRenewed: Rule(_renewed, _about, _ROW),
    e.RenderSubmitted: Rule(_submitted, lambda event: (*_about(event), event.uid), _ROW),
    e.RenderProgressed: Rule(_progressed, _about, _ROW),
    e.EncodingStarted: Rule(_encoding, _about, _ROW),
    e.UploadStarted: Rule(_uploading, _about, _ROW),
    e.FieldsUnmapped: Rule(_unmapped, _about, _ROW),
    e.RetryScheduled: Rule(_retry, _about, _ROW),
    e.RenderRequeued: Rule(_requeued, _about, _ROW),
    e.RenderCompleted: Rule(_completed, _about, _ROW),
    e.RenderFailed: Rule(_failed, _about, _ROW),
    e.RenderCancelled: Rule(_cancelled, _about, _ROW),
    e.StopClaimed: Rule(change_no_row, lambda event: (*_about(event), event.uid)),
    e.RenderStopped: Rule(change_no_row, lambda event: (*_about(event), event.uid)),
    e.StopAbandoned: Rule(change_no_row, lambda event: (*_about(event), event.uid)),
    e.StaleRunRefused: Rule(change_no_row, _about, _ROW),
    e.RenderArchived: Rule(change_no_row, _about),
    e.RenderErased: Rule(change_no_row, _about),
}
