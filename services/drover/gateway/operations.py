"""`/rest/v1` and `/agent/v1`, described: every relation as PostgREST's clients read and write it, and functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from drover.gateway import (
    assignments,
    compositions,
    device_changes,
    field_mapping,
    heartbeat,
    jobs,
    pcs,
    registration,
    render_queue,
    reports,
    rpc,
)
from drover.gateway.sockets import PATH as SOCKET_PATH
from drover.readmodel.column import Column
from drover.readmodel.models import RELATIONS
from drover.readmodel.relation import Relation
from drover.web.openapi.operation import (
    IDEMPOTENCY_KEY,
    MIN_POSITION,
    POSITION,
    Answer,
    AnyOf,
    Method,
    Operation,
    Parameter,
    Schema,
    in_path,
)
from drover.web.openapi.schemas import inlined_schema
from drover.web.postgrest.compile import ROWS_MAX


class TaskFailure(rpc.Failure):
    """What a runner says of a task that failed."""


_SELECT: Final = Parameter("select", str, "Columns, casts and embedded relations, as PostgREST has them.")
_PREFER: Final = Parameter(
    "Prefer",
    str,
    "`return=representation`, `count=exact`, `resolution=merge-duplicates`, `handling=strict`, …",
    "header",
)
_READ: Final = (
    _SELECT,
    Parameter("order", str, "Such as `created_at.desc,id`."),
    Parameter("limit", Annotated[int, Meta(ge=0)], f"At most {ROWS_MAX} rows come in one answer."),
    Parameter("offset", Annotated[int, Meta(ge=0)], "So many rows are left out."),
    _PREFER,
    MIN_POSITION,
)
_FILTERS: Final = (
    "Any column is a filter: `status=eq.active`, `id=in.(1,2)`, `created_at=gte.2026-01-01`, `not.is.null`, and"
    " `or=(…)`, `and=(…)` over them."
)


def _row(relation: Relation) -> Schema:
    """A row as `select=*` gives it; of fewer columns, fewer."""
    properties = {column.name: _described(column) for column in relation.shape}
    required = list(properties)
    return Schema(
        f"rest_{relation.name}",
        {"title": relation.name, "type": "object", "properties": properties, "required": required},
    )


def _written(relation: Relation) -> Schema:
    """A row as a write shows it: what its command does not say is null, or not there."""
    columns = [msgspec.structs.replace(column, nullable=True) for column in relation.shape]
    return Schema(
        f"rest_{relation.name}_written",
        {"title": relation.name, "type": "object", "properties": {one.name: _described(one) for one in columns}},
    )


def _described(column: Column) -> dict[str, Any]:
    schema = dict(inlined_schema(column.python))
    if column.nullable and schema:
        schema = {"anyOf": [schema, {"type": "null"}]}
    return schema | ({"description": column.text} if column.text else {})


def _list(row: Schema) -> Schema:
    ref = {"$ref": f"#/components/schemas/{row.name}"}
    return Schema(f"{row.name}_list", {"type": "array", "items": ref}, parts=(row,))


LISTS: Final = {name: _list(_row(relation)) for name, relation in RELATIONS.items()}
WRITTEN: Final = {name: _list(_written(relation)) for name, relation in RELATIONS.items()}


def _title(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _reads() -> Iterator[Operation]:
    for name in RELATIONS:
        yield Operation(
            method="GET",
            path=f"/rest/v1/{name}",
            id=f"restRead{_title(name)}",
            tag="rest",
            summary=f"Rows of {name}",
            description=_FILTERS,
            parameters=_READ,
            answers={
                200: Answer(LISTS[name], "Rows", headers={"Content-Range": "Which rows, of how many if asked for."}),
                206: Answer(LISTS[name], "Some of them, where the number of all was asked for"),
            },
            errors=(400, 406, 416, 503),
        )


_NEW: Final[dict[str, Any]] = {
    "devices": registration.NewDevice,
    "pcs": pcs.NewPc,
    "jobs": jobs.NewJob,
    "job_assignments": assignments.NewAssignment,
    "render_queue": render_queue.NewRender,
    "aep_compositions": compositions.NewComposition,
    "aep_field_mapping": field_mapping.NewField,
}
"""What a POST takes: a row, or several."""
_CHANGES: Final[dict[str, Any]] = {
    "devices": AnyOf((heartbeat.Heartbeat, device_changes.DeviceChange)),
    "pcs": pcs.PcChange,
    "jobs": jobs.JobChange,
    "job_assignments": AnyOf((reports.ReportBody, assignments.Cancellation)),
    "render_queue": render_queue.RenderChange,
    "aep_compositions": compositions.CompositionChange,
    "aep_field_mapping": field_mapping.FieldChange,
}
_DELETED: Final = ("aep_compositions", "aep_field_mapping")
_FILTER: Final = Parameter("id", str, "Which rows: `eq.<id>` or `in.(<id>,<id>)`.")
_SERIAL: Final = Parameter("serial_number", str, "Of devices also by this: `eq.<serial number>`.")
_WRITE_ERRORS: Final = (400, 404, 409, 413, 415, 422, 429, 503)


def _writes() -> Iterator[Operation]:
    for name, row in _NEW.items():
        yield Operation(
            method="POST",
            path=f"/rest/v1/{name}",
            id=f"restCreate{_title(name)}",
            tag="rest",
            summary=f"Rows for {name}",
            parameters=(_SELECT, _PREFER, IDEMPOTENCY_KEY),
            body=AnyOf((row, list[row])),  # type: ignore[valid-type]
            answers={
                200: Answer(WRITTEN[name], "Merged with what was there", headers=POSITION),
                201: Answer(WRITTEN[name], "Made; rows only with return=representation", headers=POSITION),
            },
            errors=_WRITE_ERRORS,
        )
    for name, change in _CHANGES.items():
        yield _changing("PATCH", name, f"restChange{_title(name)}", f"Change rows of {name}", change)
    for name in _DELETED:
        yield _changing("DELETE", name, f"restDelete{_title(name)}", f"Delete rows of {name}", None)


def _changing(method: Method, name: str, id: str, summary: str, body: Any) -> Operation:
    return Operation(
        method=method,
        path=f"/rest/v1/{name}",
        id=id,
        tag="rest",
        summary=summary,
        parameters=(_FILTER, *((_SERIAL,) if name == "devices" else ()), _SELECT, _PREFER, IDEMPOTENCY_KEY),
        body=body,
        answers={
            200: Answer(WRITTEN[name], "The rows, with return=representation", headers=POSITION),
            204: Answer(None, "Done", headers=POSITION),
        },
        errors=_WRITE_ERRORS,
    )


_FUNCTIONS: Final = Literal[
    "claim_task_devices_for_pc",
    "fail_or_retry_task_device",
    "fn_timeout_tasks_and_task_devices",
    "why",
    "clear_render_cache",
]
_FUNCTION: Final = in_path("function", _FUNCTIONS, "Its name.")

OPERATIONS: Final[tuple[Operation, ...]] = (
    *_reads(),
    *_writes(),
    Operation(
        method="POST",
        path="/rest/v1/rpc/{function}",
        id="restCall",
        tag="rest",
        summary="Call a function",
        parameters=(_FUNCTION, IDEMPOTENCY_KEY),
        body=AnyOf((rpc.Claim, TaskFailure, rpc.Subject, rpc.Nothing)),
        body_optional=True,
        answers={200: Answer(Any, "What the function gives", headers=POSITION)},
        errors=(*_WRITE_ERRORS, 405),
    ),
    Operation(
        method="GET",
        path="/rest/v1/rpc/{function}",
        id="restAsk",
        tag="rest",
        summary="Call a function that changes nothing, such as `why`",
        parameters=(
            _FUNCTION,
            Parameter("assignment_id", UUID, "Why it waits. Exactly one of these three."),
            Parameter("job_id", UUID, "Likewise."),
            Parameter("device_id", UUID, "Likewise."),
        ),
        answers={200: Answer(Any, "What the function gives")},
        errors=(400, 404, 405, 503),
    ),
    Operation(
        method="GET",
        path=SOCKET_PATH,
        id="connectAgent",
        tag="agents",
        summary="The agents' WebSocket: work is pushed, heartbeats and reports come back",
        description="Frames are described in docs/agents.md.",
        answers={101: Answer(None, "Switching protocols")},
        errors=(400, 426, 503),
    ),
)
