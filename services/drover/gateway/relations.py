"""What can be read at `/rest/v1`: names, columns, types and embeddings, as the fleet's projection makes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from drover.web.postgrest.relation import PgType, Relation, Relationship


def _fleet(
    name: str,
    columns: Mapping[str, PgType],
    *,
    order: tuple[str, ...] = ("id",),
    embeds: tuple[Relationship, ...] = (),
    aliases: Mapping[str, Mapping[str, str]] | None = None,
    owner: str | None = None,
) -> Relation:
    """Each embedded relation is called by its own name."""
    return Relation(
        name=name,
        schema="rm_fleet",
        context="fleet",
        columns=columns,
        order=order,
        relationships={to.target: to for to in embeds},
        aliases=aliases or {},
        owner=owner,
    )


def _one(target: str, column: str, target_column: str = "id") -> Relationship:
    return _relationship(target, "to-one", column, target_column)


def _many(target: str, target_column: str, column: str = "id") -> Relationship:
    return _relationship(target, "to-many", column, target_column)


def _relationship(target: str, kind: Literal["to-one", "to-many"], column: str, target_column: str) -> Relationship:
    return Relationship(target=target, kind=kind, column=column, target_column=target_column)


DEVICES: Final = _fleet(
    "devices",
    {
        "id": PgType.UUID,
        "serial_number": PgType.TEXT,
        "group_id": PgType.TEXT,
        "pc_id": PgType.TEXT,
        "status": PgType.TEXT,
        "capabilities": PgType.TEXT_ARRAY,
        "last_seen_at": PgType.TIMESTAMPTZ,
        "error_code": PgType.TEXT,
        "error_until": PgType.TIMESTAMPTZ,
        "error_condition": PgType.TEXT,
        "held_until": PgType.TIMESTAMPTZ,
        "created_at": PgType.TIMESTAMPTZ,
        "updated_at": PgType.TIMESTAMPTZ,
    },
    embeds=(_one("pcs", "pc_id"), _many("job_assignments", "device_id")),
    owner="id",
)
PCS: Final = _fleet(
    "pcs",
    {
        "id": PgType.TEXT,
        "capacity": PgType.INTEGER,
        "created_at": PgType.TIMESTAMPTZ,
        "updated_at": PgType.TIMESTAMPTZ,
        "held_until": PgType.TIMESTAMPTZ,
        "device_count": PgType.BIGINT,
        "online": PgType.BIGINT,
        "offline": PgType.BIGINT,
        "busy": PgType.BIGINT,
        "error": PgType.BIGINT,
    },
    embeds=(_many("devices", "pc_id"),),
)
WORKERS: Final = _fleet(
    "workers",
    {
        "id": PgType.TEXT,
        "pc_id": PgType.TEXT,
        "device_capacity": PgType.INTEGER,
        "max_devices": PgType.INTEGER,
        "held_until": PgType.TIMESTAMPTZ,
        "created_at": PgType.TIMESTAMPTZ,
        "updated_at": PgType.TIMESTAMPTZ,
    },
)
PC_DEVICE_SUMMARY: Final = _fleet(
    "pc_device_summary",
    {
        "pc_id": PgType.TEXT,
        "capacity": PgType.INTEGER,
        "running_count": PgType.INTEGER,
        "eligible_device_count": PgType.INTEGER,
        "target": PgType.INTEGER,
    },
    order=("pc_id",),
)
JOBS: Final = _fleet(
    "jobs",
    {
        "id": PgType.UUID,
        "title": PgType.TEXT,
        "target_url": PgType.TEXT,
        "script_type": PgType.TEXT,
        "duration_min_pct": PgType.INTEGER,
        "duration_max_pct": PgType.INTEGER,
        "prob_like": PgType.INTEGER,
        "prob_comment": PgType.INTEGER,
        "prob_playlist": PgType.INTEGER,
        "is_active": PgType.BOOLEAN,
        "base_reward": PgType.FLOAT,
        "target": PgType.JSONB,
        "created_at": PgType.TIMESTAMPTZ,
        "status": PgType.TEXT,
        "needs": PgType.TEXT_ARRAY,
        "activated_at": PgType.TIMESTAMPTZ,
        "ended_at": PgType.TIMESTAMPTZ,
        "paused_for": PgType.TEXT,
        "end_reason": PgType.TEXT,
        "updated_at": PgType.TIMESTAMPTZ,
        "pending": PgType.INTEGER,
        "running": PgType.INTEGER,
        "retrying": PgType.INTEGER,
        "completed": PgType.INTEGER,
        "failed": PgType.INTEGER,
        "cancelled": PgType.INTEGER,
        "skipped": PgType.INTEGER,
    },
    embeds=(_many("job_assignments", "job_id"),),
)
JOB_ASSIGNMENTS: Final = _fleet(
    "job_assignments",
    {
        "id": PgType.UUID,
        "job_id": PgType.UUID,
        "device_id": PgType.UUID,
        "pc_id": PgType.TEXT,
        "status": PgType.TEXT,
        "progress_pct": PgType.INTEGER,
        "actual_duration_sec": PgType.INTEGER,
        "did_like": PgType.BOOLEAN,
        "did_comment": PgType.BOOLEAN,
        "did_playlist": PgType.BOOLEAN,
        "error_code": PgType.TEXT,
        "error_message": PgType.TEXT,
        "retry_count": PgType.INTEGER,
        "assigned_at": PgType.TIMESTAMPTZ,
        "started_at": PgType.TIMESTAMPTZ,
        "completed_at": PgType.TIMESTAMPTZ,
        "run": PgType.INTEGER,
        "attempt": PgType.INTEGER,
        "sent_at": PgType.TIMESTAMPTZ,
        "timeout_at": PgType.TIMESTAMPTZ,
        "timed_out": PgType.BOOLEAN,
        "retry_due_at": PgType.TIMESTAMPTZ,
        "ad_playing": PgType.BOOLEAN,
        "reason": PgType.TEXT,
        "created_at": PgType.TIMESTAMPTZ,
        "updated_at": PgType.TIMESTAMPTZ,
    },
    embeds=(_one("jobs", "job_id"), _one("devices", "device_id")),
    owner="device_id",
)
TASKS: Final = _fleet(
    "tasks",
    {
        "id": PgType.UUID,
        "title": PgType.TEXT,
        "status": PgType.TEXT,
        "target_url": PgType.TEXT,
        "script_type": PgType.TEXT,
        "created_at": PgType.TIMESTAMPTZ,
        "started_at": PgType.TIMESTAMPTZ,
        "completed_at": PgType.TIMESTAMPTZ,
        "updated_at": PgType.TIMESTAMPTZ,
        "reason": PgType.TEXT,
        "pending": PgType.INTEGER,
        "running": PgType.INTEGER,
        "retrying": PgType.INTEGER,
        "completed": PgType.INTEGER,
        "failed": PgType.INTEGER,
        "cancelled": PgType.INTEGER,
        "skipped": PgType.INTEGER,
    },
    embeds=(_many("task_devices", "task_id"),),
    aliases={"status": {"completed": "success"}},  # some of the users' programs say it so
)
TASK_DEVICES: Final = _fleet(
    "task_devices",
    {
        "id": PgType.UUID,
        "task_id": PgType.UUID,
        "device_id": PgType.UUID,
        "pc_id": PgType.TEXT,
        "status": PgType.TEXT,
        "attempt": PgType.INTEGER,
        "max_attempts": PgType.INTEGER,
        "error": PgType.TEXT,
        "error_code": PgType.TEXT,
        "timed_out": PgType.BOOLEAN,
        "run": PgType.INTEGER,
        "assigned_at": PgType.TIMESTAMPTZ,
        "sent_at": PgType.TIMESTAMPTZ,
        "started_at": PgType.TIMESTAMPTZ,
        "timeout_at": PgType.TIMESTAMPTZ,
        "completed_at": PgType.TIMESTAMPTZ,
        "created_at": PgType.TIMESTAMPTZ,
        "updated_at": PgType.TIMESTAMPTZ,
    },
    embeds=(_one("tasks", "task_id"),),
    owner="device_id",
)
TASKS_EVENT: Final = _fleet(
    "tasks_event",
    {
        "id": PgType.BIGINT,
        "task_id": PgType.UUID,
        "task_device_id": PgType.UUID,
        "device_id": PgType.UUID,
        "pc_id": PgType.TEXT,
        "attempt": PgType.INTEGER,
        "run": PgType.INTEGER,
        "event_type": PgType.TEXT,
        "level": PgType.TEXT,
        "error_code": PgType.TEXT,
        "message": PgType.TEXT,
        "due_at": PgType.TIMESTAMPTZ,
        "screenshot_ref": PgType.TEXT,
        "activity_stack": PgType.TEXT,
        "by": PgType.TEXT,
        "created_at": PgType.TIMESTAMPTZ,
    },
    owner="device_id",
)
EXECUTION_LOGS: Final = _fleet(
    "execution_logs",
    {
        "id": PgType.BIGINT,
        "task_id": PgType.UUID,
        "task_device_id": PgType.UUID,
        "device_id": PgType.UUID,
        "pc_id": PgType.TEXT,
        "event_type": PgType.TEXT,
        "level": PgType.TEXT,
        "message": PgType.TEXT,
        "error_code": PgType.TEXT,
        "attempt": PgType.INTEGER,
        "run": PgType.INTEGER,
        "by": PgType.TEXT,
        "created_at": PgType.TIMESTAMPTZ,
    },
    owner="device_id",
)
ALERTS: Final = _fleet(
    "alerts",
    {
        "id": PgType.TEXT,
        "kind": PgType.TEXT,
        "subject": PgType.TEXT,
        "message": PgType.TEXT,
        "details": PgType.JSONB,
        "raised_at": PgType.TIMESTAMPTZ,
        "until": PgType.TIMESTAMPTZ,
        "resolved_at": PgType.TIMESTAMPTZ,
        "reason": PgType.TEXT,
    },
)
EVENTS: Final = _fleet(
    "events",
    {
        "seq": PgType.BIGINT,
        "line": PgType.INTEGER,
        "n": PgType.BIGINT,
        "at": PgType.TIMESTAMPTZ,
        "type": PgType.TEXT,
        "by": PgType.TEXT,
        "cause": PgType.TEXT,
        "trace": PgType.TEXT,
        "entities": PgType.TEXT_ARRAY,
        "data": PgType.JSONB,
    },
    order=("seq", "line"),
)

RELATIONS: Final = {
    relation.name: relation
    for relation in (
        DEVICES,
        PCS,
        WORKERS,
        PC_DEVICE_SUMMARY,
        JOBS,
        JOB_ASSIGNMENTS,
        TASKS,
        TASK_DEVICES,
        TASKS_EVENT,
        EXECUTION_LOGS,
        ALERTS,
        EVENTS,
    )
}
