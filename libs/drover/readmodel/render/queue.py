"""Renders, their input, and the history of their status: the rows, and the columns that clients see."""

from __future__ import annotations

from datetime import date, datetime
from functools import partial
from typing import Annotated, Any, Final

import msgspec

from drover.domain.render.state import Status
from drover.readmodel.column import BigInt, PgType, Scalar, column, columns_of, pick, without, words
from drover.readmodel.relation import View, many, one, relation
from drover.readmodel.row import Row
from drover.readmodel.table import AppendTable, Index, KeyedTable

_render = partial(relation, "render")


class Render(Row, frozen=True):
    """A render as people see it, without its input."""

    id: int
    composition_id: str
    composition_name: str
    cue_item_id: Scalar | None
    broadcast_date: date
    created_at: datetime
    updated_at: datetime
    stage_since: datetime
    """When the render reached its status."""
    status: Status = Status.PENDING
    run: int = 0
    worker_id: str | None = None
    """The worker that holds the render; after its end, the last worker."""
    lock_expires_at: datetime | None = None
    nexrender_job_id: str | None = None
    progress: int = 0
    """The progress in percent. Between two events it comes from telemetry. It never decides that a render is done."""
    output_file_path: str | None = None
    output_size_bytes: BigInt | None = None
    output_sha256: str | None = None
    error_code: str | None = None
    """The code of the last error, until the render completes or a person requeues it. The same holds for
    `error_message`."""
    error_message: str | None = None
    recovery_count: int = 0
    retry_due_at: datetime | None = None
    unmapped_fields: list[str] = msgspec.field(default_factory=list)
    started_at: datetime | None = None
    """When nexrender accepted the render's current job."""
    completed_at: datetime | None = None
    duration_seconds: float | None = None
    preparing_seconds: float | None = None
    """How many seconds the render was in the stage `preparing`, summed over all times that it was in this stage and has
    left it. Null: it never was. The three fields below are the same for the other stages."""
    rendering_seconds: float | None = None
    encoding_seconds: float | None = None
    uploading_seconds: float | None = None


class RenderRow(Render, frozen=True):
    """The state of a render. Progress and leases change most often, so no index has them."""

    generation: int = 1
    """The number of the render's job at nexrender, from 1."""
    generation_ends: list[int] = msgspec.field(default_factory=list)
    """For each earlier job at nexrender (generation), the number of its last run."""
    external: bool = False
    """Whether the present or last worker is a program of the users, which sends no heartbeats."""


class GfxRow(Row, frozen=True):
    """The input of a render. It has its own table, because it is large and never changes, while a render's row changes
    often."""

    id: int
    gfx_id: str
    gfx_data: str
    """The sealed (encrypted) input. It can be opened only with `gfx_id` and a key that the database does not have."""


class StatusChange(Row, frozen=True):
    """A change of a render's status."""

    id: BigInt
    """The id, computed from the position of the event in the log: sequence of the commit * 65536 + line. It grows with
    time."""
    status_from: Status | None
    """The status before the change. Null: the render was just requested."""
    status_to: Status
    worker_id: str | None
    """The worker that holds the render, or held it until this change."""
    changed_at: datetime
    changed_by: str
    reason: str | None


class AuditRow(StatusChange, frozen=True):
    """A change of a render's status. Rows are only added, never changed."""

    render_queue_id: int


Stage = Annotated[str, words("preparing", "rendering", "encoding", "uploading")]


class StageRange(Row, frozen=True):
    """The usual duration of a stage in seconds, from document 003 (the render queue), §2.2."""

    number: int
    stage: Stage
    seconds_min: float
    seconds_max: float


class RenderStage(Row, frozen=True):
    """How long a render was in a stage, compared with the usual range."""

    number: int
    stage: Stage
    seconds: float
    under_way: bool
    seconds_min: float
    seconds_max: float
    verdict: Annotated[str, words("below", "within", "above")] | None
    """How the duration compares with the usual range: `below`, `within` or `above`; null while it is unknown."""


class WorkerFacts(Row, frozen=True):
    worker_id: str
    status: Annotated[str, words("busy", "idle", "gone")]
    """`busy`, `idle`, or `gone`: no sign of life for 30 s."""
    last_seen_at: datetime | None
    run: int | None
    render_status: Status | None
    lock_expires_at: datetime | None


class RenderWorker(WorkerFacts, frozen=True):
    """A worker and its current render."""

    render_queue_id: int | None


class RenderFigures(Row, frozen=True):
    pending_count: BigInt
    avg_duration_seconds: float | None
    success_rate: float | None
    """The percentage of completed renders among those that were requested in the last 24 hours and have completed or
    failed."""
    active_workers: BigInt


RENDERS: Final = KeyedTable(
    name="render_rows",
    row=RenderRow,
    key=("id",),
    fillfactor=70,
    indices=(
        Index("render_rows_status", "status, created_at"),
        Index("render_rows_created_at", "created_at"),
        Index("render_rows_completed_at", "completed_at"),
        Index("render_rows_composition_id", "composition_id, created_at"),
        Index("render_rows_cue_item_id", "(cue_item_id #>> '{}')"),
        Index("render_rows_broadcast_date", "broadcast_date, created_at"),
        Index("render_rows_composition_name", "composition_name, id", why="ended renders sorted by name"),
        Index(
            "render_rows_composition_prefix",
            "lower(composition_name) text_pattern_ops",
            why="search by the beginning of a name",
        ),
    ),
)
GFX: Final = AppendTable(name="render_gfx", row=GfxRow, key=("id",))
AUDIT: Final = AppendTable(
    name="render_queue_audit",
    row=AuditRow,
    key=("id",),
    by_position="id",
    indices=(
        Index("render_queue_audit_render_queue_id", "render_queue_id, id"),
        Index("render_queue_audit_changed_at", "changed_at"),
    ),
)

OpenedObject = Annotated[dict[str, Any], PgType.TEXT]
"""A sealed text in the database, which is an object in answers."""
PROGRESS: Final = """CASE
  WHEN r.status IN ('rendering', 'encoding') AND w.render_id = r.id AND coalesce(w.run, r.run) = r.run
  THEN greatest(r.progress, w.progress)
  ELSE r.progress
END"""
"""SQL of a render's progress: the worker's own report (`tel_render.workers w`), if that is higher. Reports are not in
the log, so `drover verify` does not compare them."""

RELATIONS: Final = (
    _render(
        "render_queue",
        (
            *without(Render, "stage_since"),
            # The view has `<gfx_id> <sealed>`. Edges open it for the answer, which has the object, or say in
            # gfx_data_error why they could not.
            column("gfx_data", OpenedObject | None, "g.gfx_id || ' ' || g.gfx_data"),
            column("gfx_data_error", str | None, "NULL::text"),
        ),
        view=View(
            "render_rows",
            "r",
            "LEFT JOIN render_gfx g ON g.id = r.id\nLEFT JOIN tel_render.workers w ON w.worker_id = r.worker_id",
        ),
        computed={"progress": PROGRESS},
        embeds=(
            many("render_queue_audit", "render_queue_id"),
            many("renders_event", "render_queue_id"),
            many("render_stages", "render_queue_id"),
            one("aep_compositions", "composition_id"),
        ),
        sealed={"gfx_data": "gfx_data_error"},
    ),
    _render("render_queue_audit", AuditRow, embeds=(one("render_queue", "render_queue_id"),)),
    _render(
        "render_stages",
        (*pick(AuditRow, "render_queue_id"), *columns_of(RenderStage)),
        order=("render_queue_id", "number"),
    ),
    _render("render_stage_ranges", StageRange, order=("number",)),
    _render("render_workers", RenderWorker, order=("worker_id",)),
    _render("render_figures", RenderFigures, order=()),
)
