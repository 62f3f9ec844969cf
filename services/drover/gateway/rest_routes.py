"""Declares the routes of a relation: read, create, change and delete rows, as in PostgREST."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from drover.readmodel.column import Column
from drover.readmodel.models import RELATIONS
from drover.readmodel.relation import Relation
from drover.web.openapi.schemas import inlined_schema
from drover.web.permissions import Verb
from drover.web.postgrest.compile import ROWS_MAX
from drover.web.route import (
    BEHIND,
    BY_HANDLER,
    IDEMPOTENCY_KEY,
    MIN_POSITION,
    ONE_USE,
    POSITION,
    Answer,
    AnyOf,
    Limit,
    Method,
    Parameter,
    Permission,
    Route,
    Schema,
)

_SELECT: Final = Parameter("select", str, "Columns, casts and embedded relations, as in PostgREST.")
_PREFER: Final = Parameter(
    "Prefer",
    str,
    "`return=representation`, `count=exact`, `resolution=merge-duplicates`, `handling=strict`, …",
    "header",
)
_READ: Final = (
    _SELECT,
    Parameter("order", str, "For example `created_at.desc,id`."),
    Parameter("limit", Annotated[int, Meta(ge=0)], f"An answer has at most {ROWS_MAX} rows."),
    Parameter("offset", Annotated[int, Meta(ge=0)], "The number of rows to skip."),
    _PREFER,
    MIN_POSITION,
)
_FILTERS: Final = (
    "Any column is a filter: `status=eq.active`, `id=in.(1,2)`, `created_at=gte.2026-01-01`, `not.is.null`, and"
    " `or=(…)`, `and=(…)` over them."
)
_RANGE: Final = {"Content-Range": "The range, and the total if requested."}
_KEYED: Final = (
    " If the key is the only filter, unknown rows are 404, and refused rows are an error. With any other filter, rows"
    " that have changed meanwhile are left out, as in PostgREST, and `Drover-Refused` names them. At most 1,000 rows."
)
_TOLD: Final = {
    **POSITION,
    "Drover-Ignored": "Columns of the body that have no effect in this write.",
}
_REFUSED: Final = {
    **_TOLD,
    **BEHIND,
    "Drover-Refused": "Rows that matched, but were not changed: `<id>=<code>`. Only with filters other than the key.",
}
WRITE_ERRORS: Final = (400, 404, 409, 413, 415, 422, 429, 503)


def _row(relation: Relation) -> Schema:
    """Make the schema of a row as `select=*` returns it. With another `select`, a row has fewer columns."""
    properties = {column.name: _described(column) for column in relation.shape}
    required = list(properties)
    return Schema(
        f"rest_{relation.name}",
        {"title": relation.name, "type": "object", "properties": properties, "required": required},
    )


def _written(relation: Relation) -> Schema:
    """Make the schema of a row in the answer to a write. Columns that the command does not have are null or absent."""
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


_LISTS: Final = {name: _list(_row(relation)) for name, relation in RELATIONS.items()}
_WRITTEN: Final = {name: _list(_written(relation)) for name, relation in RELATIONS.items()}


def _title(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


POLLED: Final = "job_assignments"
"""The relation whose reads may be polls. A poll counts against the limit of its device."""


def reads(name: str) -> Route:
    """Declare the route that reads rows of a relation. Its handler checks the permission itself, because one handler
    serves all relations, and the polls of phones."""
    return Route(
        method="GET",
        path=f"/rest/v1/{name}",
        id=f"restRead{_title(name)}",
        tag="rest",
        summary=f"Rows of {name}",
        description=_FILTERS,
        permission=BY_HANDLER,
        limit=BY_HANDLER if name == POLLED else ONE_USE,
        parameters=_READ,
        answers={
            200: Answer(_LISTS[name], "Rows", headers=_RANGE | BEHIND),
            206: Answer(_LISTS[name], "A part of the rows; the total was requested", headers=_RANGE | BEHIND),
        },
        errors=(400, 406, 416, 503),
    )


def creates(name: str, row: Any, *, on_conflict: tuple[str, ...] = ()) -> Route:
    """Declare the route that creates rows of a relation. `row`: the type of a row that a client sends, alone or in an
    array. `on_conflict`: the values that this parameter may have; none if existing rows cannot be changed."""
    upsert = Parameter(
        "on_conflict",
        str,
        f"{' or '.join(f'`{columns}`' for columns in on_conflict)}: identifies existing rows. `Prefer:"
        " resolution=merge-duplicates` changes them, `resolution=ignore-duplicates` leaves them as they are.",
    )
    return Route(
        method="POST",
        path=f"/rest/v1/{name}",
        id=f"restCreate{_title(name)}",
        tag="rest",
        summary=f"Rows for {name}",
        permission=Permission(name, Verb.CREATE),
        parameters=(_SELECT, *([upsert] if on_conflict else ()), _PREFER, IDEMPOTENCY_KEY),
        body=AnyOf((row, list[row])),
        answers={
            200: Answer(_WRITTEN[name], "Merged with existing rows", headers=_TOLD),
            201: Answer(_WRITTEN[name], "Created; rows only with return=representation", headers=_TOLD),
        },
        errors=WRITE_ERRORS,
    )


def changes(
    name: str,
    body: Any,
    *,
    keys: tuple[str, ...] = ("id",),
    permission: Permission | Literal["by handler"] | None = None,
    limit: Limit | Literal["by handler"] = ONE_USE,
) -> Route:
    """Declare the route that changes rows of a relation. `keys`: the columns of which each identifies a row.
    `permission`: by default, the permission to update rows of the relation."""
    return _writes("PATCH", name, "Change", body, keys, permission or Permission(name, Verb.UPDATE), limit)


def deletes(name: str, *, keys: tuple[str, ...] = ("id",)) -> Route:
    return _writes("DELETE", name, "Delete", None, keys, Permission(name, Verb.DELETE))


def _writes(
    method: Method,
    name: str,
    word: str,
    body: Any,
    keys: tuple[str, ...],
    permission: Permission | Literal["by handler"],
    limit: Limit | Literal["by handler"] = ONE_USE,
) -> Route:
    named = tuple(Parameter(key, str, "Which rows, by key: `eq.<key>` or `in.(<key>,<key>)`.") for key in keys)
    return Route(
        method=method,
        path=f"/rest/v1/{name}",
        id=f"rest{word}{_title(name)}",
        tag="rest",
        summary=f"{word} rows of {name}",
        description=_FILTERS + _KEYED,
        permission=permission,
        limit=limit,
        parameters=(*named, _SELECT, _PREFER, IDEMPOTENCY_KEY),
        body=body,
        answers={
            200: Answer(_WRITTEN[name], "The changed rows, with return=representation", headers=_REFUSED),
            204: Answer(None, "Done", headers=_REFUSED),
        },
        errors=(*WRITE_ERRORS, 406),
    )
