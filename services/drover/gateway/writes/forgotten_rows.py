"""Finds inserted rows whose id belongs to work that ended long ago. The writer has forgotten such work, so it would not
refuse the id."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import UNSET

from drover.domain.past import KEPT_AT_LEAST
from drover.gateway.writes.edge import Edge
from drover.readmodel.models import RELATIONS
from drover.web.errors import ApiError
from drover.web.postgrest.ast import Column, Filter, Query
from drover.web.postgrest.read import fetch

FORGOTTEN_AFTER: Final = KEPT_AT_LEAST / 2
"""The writer may have forgotten work that ended longer ago. Half of `KEPT_AT_LEAST`, because clocks differ."""


class _Row(msgspec.Struct):
    id: str
    ended_at: datetime


_decode: Final = msgspec.json.Decoder(list[_Row]).decode


def forgotten_rows(
    relation: str,
    *ended: Filter,
    ended_at: str,
    without_postgres: bool,
    is_known: Callable[[Edge, str], bool] = lambda edge, id_: False,
) -> Callable[[Edge, Sequence[Any]], Awaitable[frozenset[int]]]:
    """Make the function `Insert.forgotten` of a table whose clients may choose the column `id`.

    `ended`: conditions that ended rows meet. `ended_at`: the column with the time of the end. `without_postgres`:
    whether rows are recorded while PostgreSQL is down, although they could replace older ones. `is_known`: whether this
    process sees that the writer has not forgotten an id.
    """

    async def find(edge: Edge, rows: Sequence[Any]) -> frozenset[int]:
        named = {place: str(row.id) for place, row in enumerate(rows) if row.id is not UNSET}
        named = {place: id_ for place, id_ in named.items() if not is_known(edge, id_)}
        if not named:
            return frozenset()
        where = (Filter("id", "in", tuple(named.values())), Filter(ended_at, "is", "not_null"), *ended)
        query = Query(select=(Column("id"), Column(ended_at, alias="ended_at")), where=where)
        try:
            page = await fetch(RELATIONS[relation], query, edge.pool)
        except ApiError:
            if without_postgres:
                return frozenset()
            raise
        now = datetime.now(UTC)
        known = {row.id for row in _decode(page.body) if may_be_forgotten(row.ended_at, now)}
        return frozenset(place for place, id_ in named.items() if id_ in known)

    return find


def may_be_forgotten(ended_at: datetime, now: datetime) -> bool:
    """Whether the writer may have forgotten work with this end. If the end is in the future, it may: the partition's
    time is ahead of the wall clock, by a difference that is not known here."""
    return abs(now - ended_at) > FORGOTTEN_AFTER


def in_roster(edge: Edge, id_: str) -> bool:
    return edge.roster.knows_work(id_)
