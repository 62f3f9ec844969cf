"""`PATCH` and `DELETE` of rows by their id: which rows, and the outcome of each. Each relation decides what changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import msgspec
from aiohttp import web
from multidict import CIMultiDictProxy

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.errors import Code
from drover.gateway.representation import answer_update, parse_view
from drover.gateway.rows import Row
from drover.readmodel.column import PgType
from drover.readmodel.relation import Relation
from drover.web.commands import CommandClient
from drover.web.errors import ApiError, invalid
from drover.web.postgrest.ast import Item
from drover.web.postgrest.grammar import parse_filter, split_parameters
from drover.web.postgrest.prefer import Preferences
from drover.web.postgrest.respond import check_profile
from drover.web.postgrest.values import bad_value, check_value

IDS_PER_PATCH_MAX: Final = 100
_NUMBERS: Final = (PgType.INTEGER, PgType.BIGINT)

_PARAMETERS: Final = frozenset({"select", "columns"})


class Patch(msgspec.Struct, frozen=True):
    """The rows of a PATCH, and what its caller wants to see of them. The body is decoded elsewhere."""

    ids: tuple[str, ...]
    select: Sequence[Item]
    preferences: Preferences
    headers: CIMultiDictProxy[str]

    def answer(self, rows: list[Row] | None, positions: Mapping[str, str]) -> web.Response:
        """`rows`: None if the caller does not want to see them. `positions`: the headers of the write."""
        return answer_update(rows, self.preferences, self.headers, select=self.select, extra=positions)


def parse_patch(request: web.Request, relation: Relation) -> Patch:
    """The rows that the filter names, at least one. Refuses here what could not be answered later."""
    query, headers = request.rel_url.raw_query_string, request.headers
    check_profile(headers, "Content-Profile")
    ids = named_ids(query, relation, "PATCH")
    if not ids:
        raise ApiError(404, Code.NOT_FOUND, "The filter names no ids")
    preferences, select = parse_view(relation, headers, query, len(ids))
    return Patch(ids, select, preferences, headers)


def named_ids(query: str, relation: Relation, method: str) -> tuple[str, ...]:
    """The ids of the one filter (`id`, with `eq` or `in`), in canonical form and without duplicates."""
    filters = [parse_filter(key, value) for key, value in split_parameters(query) if key not in _PARAMETERS]
    if len(filters) != 1 or filters[0].column != "id" or filters[0].negated or filters[0].operator not in ("eq", "in"):
        raise invalid(f"A {method} of {relation.name} takes one filter: id, with eq or in", field="filter")
    texts = filters[0].value if isinstance(filters[0].value, tuple) else (filters[0].value,)
    if len(texts) > IDS_PER_PATCH_MAX:
        raise invalid(f"At most {IDS_PER_PATCH_MAX} rows in one {method}", field="id", value=len(texts))
    type_ = relation.columns["id"]
    if type_ is PgType.UUID:
        texts = tuple(map(canonical_uuid, texts))
    elif type_ in _NUMBERS:
        for text in texts:
            check_value(type_, text)
        texts = tuple(str(int(text)) for text in texts)
    return tuple(dict.fromkeys(texts))


def id_of(relation: Relation, id_: str) -> str | int:
    """One of `named_ids` with the type of the column."""
    return int(id_) if relation.columns["id"] in _NUMBERS else id_


def canonical_uuid(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise bad_value("uuid", text) from None


class Done(msgspec.Struct, frozen=True):
    """The outcome of a PATCH for each row."""

    rows: dict[str, Accepted | None]
    """By id; None: nothing to record. Unknown ids are left out, as with any filter."""
    position: int


def settle(client: CommandClient, ids: Sequence[str], results: Sequence[Outcome | ApiError | None]) -> Done:
    """All outcomes, or the first refusal, which lists what was done nevertheless.

    An unknown row is no refusal, unless all rows are unknown.
    """
    rows: dict[str, Accepted | None] = {}
    refused: dict[str, ApiError] = {}
    for id_, result in zip(ids, results, strict=True):
        if isinstance(result, ApiError):
            refused[id_] = result
        elif isinstance(result, Rejected):
            refused[id_] = client.refusal(result)
        else:
            rows[id_] = result
    position = max((result.position for result in rows.values() if result is not None), default=0)
    for id_, error in sorted(refused.items(), key=lambda item: item[1].code == Code.NOT_FOUND):
        if error.code == Code.NOT_FOUND and rows:
            break
        if len(ids) > 1:
            details = error.details if isinstance(error.details, dict) else {}
            error.details = {**details, "id": id_, "accepted": list(rows)}
            error.hint = "Rows whose id is in details.accepted were changed."
            error.headers.update(client.position_headers(position))
        raise error
    return Done(rows, position)
