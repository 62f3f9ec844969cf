"""The rows that a write returns on request: what its command recorded, with the column names of a read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from aiohttp import web
from multidict import CIMultiDictProxy

from drover.gateway.rows import Row
from drover.readmodel.relation import Relation
from drover.web.errors import ApiError, encode_json
from drover.web.postgrest.ast import Column, Count, Embed, Item
from drover.web.postgrest.grammar import split_parameters
from drover.web.postgrest.prefer import Preferences, check_affected, parse_prefer
from drover.web.postgrest.respond import OBJECT_TYPE, choose_media
from drover.web.postgrest.select import not_implemented, parse_select


def check_select(select: Sequence[Item], relation: Relation) -> None:
    """Check the `select` of a write before anything is written: an unknown column must not turn a finished write into a
    400."""
    for item in select:
        if isinstance(item, Embed):
            raise ApiError(400, "PGRST200", f"A write of '{relation.name}' embeds no other relation")
        if isinstance(item, Count) or (isinstance(item, Column) and not is_bare(item)):
            raise not_implemented("A write returns plain columns: no count(), paths or casts.")
        if isinstance(item, Column) and item.name not in relation.columns:
            raise ApiError(400, "42703", f"column {relation.name}.{item.name} does not exist")


def is_bare(column: Column) -> bool:
    """Whether the column is shown unchanged, with or without an alias."""
    return column.path is None and column.cast is None


def check_media(rows: int, preferences: Preferences, headers: Mapping[str, str]) -> None:
    """Raise 406 if the caller wants a single object, and the answer does not have exactly one row."""
    if preferences.representation and choose_media(headers) == "object" and rows != 1:
        details = f"The result contains {rows} rows"
        raise ApiError(406, "PGRST116", "Cannot coerce the result to a single JSON object", details=details)


def parse_view(
    relation: Relation, headers: CIMultiDictProxy[str], query: str, rows: int
) -> tuple[Preferences, Sequence[Item]]:
    """Parse what the caller wants to see of the rows that a write returns. Checks it before the write; `rows` is their
    number."""
    preferences = parse_prefer(headers.getall("Prefer", ()))
    check_affected(preferences, rows)
    if not preferences.representation:
        return preferences, ()
    selects = [value for key, value in split_parameters(query) if key == "select"]
    select = parse_select(selects[-1]) if selects else ()
    check_select(select, relation)
    check_media(rows, preferences, headers)
    return preferences, select


def answer_update(
    rows: list[Row] | None,
    preferences: Preferences,
    headers: Mapping[str, str],
    *,
    select: Sequence[Item] = (),
    extra: Mapping[str, str] | None = None,
) -> web.Response:
    """Make the answer to a PATCH or DELETE: 204, or 200 with the rows if requested."""
    return _answer(204 if rows is None else 200, rows, preferences, headers, select, extra or {})


def answer_creation(
    rows: list[Row],
    preferences: Preferences,
    headers: Mapping[str, str],
    *,
    select: Sequence[Item] = (),
    extra: Mapping[str, str],
) -> web.Response:
    """Make the answer to a POST: 201, with the rows if requested."""
    return _answer(201, rows if preferences.representation else None, preferences, headers, select, extra)


def _answer(
    status: int,
    rows: list[Row] | None,
    preferences: Preferences,
    headers: Mapping[str, str],
    select: Sequence[Item],
    extra: Mapping[str, str],
) -> web.Response:
    applied = {"Preference-Applied": preferences.applied} if preferences.applied else {}
    if rows is None:
        return web.Response(status=status, headers={**applied, **extra})
    shown = [selected(row, select) for row in rows]
    single = choose_media(headers) == "object"
    return web.Response(
        body=encode_json(shown[0] if single else shown),
        status=status,
        headers={**applied, **extra},
        content_type=OBJECT_TYPE if single else "application/json",
        charset="utf-8",
    )


def selected(row: Row, select: Sequence[Item], embedded: Mapping[str, Row] = MappingProxyType({})) -> Row:
    """Return the requested columns of a row and of the rows embedded in it. `embedded`: rows by the name of their
    relation."""
    if not select:
        return row
    shown: Row = {}
    for item in select:
        if isinstance(item, Column):
            shown[item.alias or item.name] = row.get(item.name)  # null if the command does not have it
        elif isinstance(item, Embed):
            if item.query.select:  # `jobs()` shows nothing
                shown[item.key] = selected(embedded[item.relation], item.query.select)
        else:
            shown.update(row)
    return shown
