"""The render queue's relations, as its projection makes them."""

from __future__ import annotations

from functools import partial
from typing import Final

from drover.gateway.relations.describe import many, one, relation
from drover.web.postgrest.relation import PgType

_render: Final = partial(relation, "render")

RENDER_QUEUE: Final = _render(
    "render_queue",
    {
        "id": PgType.INTEGER,
        "composition_id": PgType.TEXT,
        "composition_name": PgType.TEXT,
        "gfx_data": PgType.TEXT,
        "gfx_data_error": PgType.TEXT,
        "cue_item_id": PgType.TEXT,
        "broadcast_date": PgType.DATE,
        "status": PgType.TEXT,
        "worker_id": PgType.TEXT,
        "lock_expires_at": PgType.TIMESTAMPTZ,
        "nexrender_job_id": PgType.TEXT,
        "progress": PgType.INTEGER,
        "output_file_path": PgType.TEXT,
        "output_size_bytes": PgType.BIGINT,
        "output_sha256": PgType.TEXT,
        "error_code": PgType.TEXT,
        "error_message": PgType.TEXT,
        "recovery_count": PgType.INTEGER,
        "run": PgType.INTEGER,
        "retry_due_at": PgType.TIMESTAMPTZ,
        "unmapped_fields": PgType.TEXT_ARRAY,
        "created_at": PgType.TIMESTAMPTZ,
        "started_at": PgType.TIMESTAMPTZ,
        "updated_at": PgType.TIMESTAMPTZ,
        "completed_at": PgType.TIMESTAMPTZ,
        "duration_seconds": PgType.FLOAT,
        "preparing_seconds": PgType.FLOAT,
        "rendering_seconds": PgType.FLOAT,
        "encoding_seconds": PgType.FLOAT,
        "uploading_seconds": PgType.FLOAT,
    },
    embeds=(
        many("render_queue_audit", "render_queue_id"),
        many("render_stages", "render_queue_id"),
        one("aep_compositions", "composition_id"),
    ),
    sealed={"gfx_data": "gfx_data_error"},
)
RENDER_QUEUE_AUDIT: Final = _render(
    "render_queue_audit",
    {
        "id": PgType.BIGINT,
        "render_queue_id": PgType.INTEGER,
        "status_from": PgType.TEXT,
        "status_to": PgType.TEXT,
        "worker_id": PgType.TEXT,
        "changed_at": PgType.TIMESTAMPTZ,
        "changed_by": PgType.TEXT,
        "reason": PgType.TEXT,
    },
    embeds=(one("render_queue", "render_queue_id"),),
)
AEP_COMPOSITIONS: Final = _render(
    "aep_compositions",
    {
        "id": PgType.TEXT,
        "name": PgType.TEXT,
        "template": PgType.TEXT,
        "output_module": PgType.TEXT,
        "fields": PgType.INTEGER,
        "created_at": PgType.TIMESTAMPTZ,
        "updated_at": PgType.TIMESTAMPTZ,
    },
    embeds=(many("aep_field_mapping", "composition_id"),),
)
AEP_FIELD_MAPPING: Final = _render(
    "aep_field_mapping",
    {
        "id": PgType.INTEGER,
        "composition_id": PgType.TEXT,
        "field_name": PgType.TEXT,
        "layer_name": PgType.TEXT,
        "kind": PgType.TEXT,
        "property": PgType.TEXT,
        "created_at": PgType.TIMESTAMPTZ,
        "updated_at": PgType.TIMESTAMPTZ,
    },
    embeds=(one("aep_compositions", "composition_id"),),
)
RENDER_STAGE_RANGES: Final = _render(
    "render_stage_ranges",
    {
        "number": PgType.INTEGER,
        "stage": PgType.TEXT,
        "seconds_min": PgType.FLOAT,
        "seconds_max": PgType.FLOAT,
    },
    order=("number",),
)
RENDER_STAGES: Final = _render(
    "render_stages",
    {
        "render_queue_id": PgType.INTEGER,
        "number": PgType.INTEGER,
        "stage": PgType.TEXT,
        "seconds": PgType.FLOAT,
        "under_way": PgType.BOOLEAN,
        "seconds_min": PgType.FLOAT,
        "seconds_max": PgType.FLOAT,
        "verdict": PgType.TEXT,
    },
    order=("render_queue_id", "number"),
)
RENDER_WORKERS: Final = _render(
    "render_workers",
    {
        "worker_id": PgType.TEXT,
        "status": PgType.TEXT,
        "last_seen_at": PgType.TIMESTAMPTZ,
        "render_queue_id": PgType.INTEGER,
        "run": PgType.INTEGER,
        "render_status": PgType.TEXT,
        "lock_expires_at": PgType.TIMESTAMPTZ,
    },
    order=("worker_id",),
)
RENDER_FIGURES: Final = _render(
    "render_figures",
    {
        "pending_count": PgType.BIGINT,
        "avg_duration_seconds": PgType.FLOAT,
        "success_rate": PgType.FLOAT,
        "active_workers": PgType.BIGINT,
    },
    order=(),
)
