"""Finds the rows of a PATCH or DELETE: by their keys, or all that the filters match."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final
from uuid import UUID

import msgspec
from aiohttp import web

from drover.gateway.rows import Row
from drover.gateway.writes.declaration import Target, WriteTable
from drover.gateway.writes.edge import Edge
from drover.readmodel.column import PgType
from drover.readmodel.models import RELATIONS
from drover.readmodel.relation import Relation
from drover.web.auth import Principal
from drover.web.errors import ApiError, invalid, unavailable
from drover.web.permissions import Verb
from drover.web.postgrest.ast import Column, Condition, Filter, Item, Query
from drover.web.postgrest.grammar import parse_query, split_parameters
from drover.web.postgrest.read import fetch
from drover.web.postgrest.values import bad_value, check_value

ROWS_PER_WRITE_MAX: Final = 1_000
_NUMBERS: Final = (PgType.INTEGER, PgType.BIGINT)

_decode: Final = msgspec.json.Decoder(list[Row]).decode


class Selection(msgspec.Struct, frozen=True):
    targets: tuple[Target, ...]
    by_key: bool
    """Whether the request names its rows by key and has no other filter. Then unknown and refused rows are errors (404,
    409). With any other filter, a row that does not match is no error, as in PostgREST."""
    headers: Mapping[str, str] = MappingProxyType({})
    """Headers for the answer, if the rows came from a read model that may lack recent writes."""


def parse_filters(request: web.Request, method: str) -> Query:
    """Parse the filters of a write. At least one is required."""
    query = parse_query(split_parameters(request.rel_url.raw_query_string))
    if not query.where:
        raise invalid(f"A {method} needs a filter", field="filter")
    return query


async def select_rows(
    table: WriteTable, query: Query, edge: Edge, request: web.Request, principal: Principal
) -> Selection:
    """Find the rows of a write. Keys alone need no read model, so that heartbeats and reports work without it."""
    keys = _keys(table, query)
    if keys is None:
        return await _matching(table, query, edge, request, principal)
    column, values = keys
    if table.finds_keys:
        found = await _matching(table, query, edge, request, principal)
        if found.headers and {target.id for target in found.targets} != set(values):
            raise unavailable("The read model is late, and may not show all of these rows yet")
        return msgspec.structs.replace(found, by_key=bool(found.targets))
    if column == table.key:
        ids = values
    else:
        find = partial(table.other_keys[column], edge)
        if any(find(value) is None for value in values):  # another process may just have registered it
            await edge.fleet.known_here()
        ids = tuple(id_ for value in values if (id_ := find(value)) is not None)
        if not ids:
            raise table.absent(edge)
    return Selection(tuple(map(Target, dict.fromkeys(ids))), by_key=True)


def _keys(table: WriteTable, query: Query) -> tuple[str, tuple[str, ...]] | None:
    """Return the key column and its values in canonical form, if the query has no other filter. Otherwise None."""
    if len(query.where) != 1 or query.order or query.limit is not None or query.offset:
        return None
    (part,) = query.where
    if not isinstance(part, Filter) or part.negated or part.path is not None or part.operator not in ("eq", "in"):
        return None
    if part.column != table.key and part.column not in table.other_keys:
        return None
    texts = part.value if isinstance(part.value, tuple) else (part.value,)
    if len(texts) > ROWS_PER_WRITE_MAX:
        raise _too_many(len(texts))
    return part.column, tuple(map(_canonical(table.columns.columns[part.column]), texts))


def _canonical(type_: PgType) -> Callable[[str], str]:
    if type_ is PgType.UUID:
        return canonical_uuid
    return (lambda text: _number(type_, text)) if type_ in _NUMBERS else str


def _number(type_: PgType, text: str) -> str:
    check_value(type_, text)
    return str(int(text))


async def _matching(
    table: WriteTable, query: Query, edge: Edge, request: web.Request, principal: Principal
) -> Selection:
    """Select the rows that match now. The caller must be allowed to read them, because filters could reveal values."""
    relation = table.columns
    edge.permissions.demand(principal, relation.name, Verb.READ)
    awaited = await edge.freshness.wait(request.headers, *relation.contexts)
    columns: tuple[Item, ...] = tuple(map(Column, dict.fromkeys((table.key, *table.fence))))
    limit = ROWS_PER_WRITE_MAX if query.limit is None else query.limit
    wanted = msgspec.structs.replace(query, select=columns, limit=limit)
    sight = edge.permissions.sight(principal, RELATIONS)
    page = await fetch(relation, wanted, edge.pools.of(principal), sight=sight, count=True)
    total = page.rows if page.total is None else page.total
    if min(total - query.offset, limit if query.limit is not None else total) > ROWS_PER_WRITE_MAX:
        raise _too_many(total)
    by = frozenset(_filtered(query.where))
    targets = tuple(Target(str(row[table.key]), row, by) for row in _decode(page.body))
    return Selection(targets, by_key=False, headers=awaited.headers)


def _filtered(where: Sequence[Condition]) -> Iterator[str]:
    for part in where:
        if isinstance(part, Filter):
            yield part.column
        else:
            yield from _filtered(part.parts)


def _too_many(count: int) -> ApiError:
    return invalid(f"At most {ROWS_PER_WRITE_MAX} rows in one write", field="filter", value=count)


def id_of(relation: Relation, key: str, id_: str) -> str | int:
    """Convert a key to the type of its column."""
    return int(id_) if relation.columns[key] in _NUMBERS else id_


def canonical_uuid(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise bad_value("uuid", text) from None
