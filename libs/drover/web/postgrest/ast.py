"""What a PostgREST query means, free of its spelling. No SQL and no knowledge of any relation."""

from __future__ import annotations

from typing import Literal

import msgspec

Operator = Literal["eq", "neq", "gt", "gte", "lt", "lte", "like", "ilike", "cs", "cd", "in", "is"]


class Star(msgspec.Struct, frozen=True):
    """Every column."""


class Column(msgspec.Struct, frozen=True):
    name: str
    alias: str | None = None


class Embed(msgspec.Struct, frozen=True):
    """Rows of a related relation inside each row: parsed, not compiled yet."""

    relation: str
    select: tuple[Star | Column | Embed, ...]
    alias: str | None = None
    inner: bool = False


Item = Star | Column | Embed


class Filter(msgspec.Struct, frozen=True):
    column: str
    operator: Operator
    value: str | tuple[str, ...]
    """A tuple for `in`, the text as it was sent for all others."""
    negated: bool = False


class Junction(msgspec.Struct, frozen=True):
    kind: Literal["and", "or"]
    parts: tuple[Filter | Junction, ...]
    negated: bool = False


Condition = Filter | Junction


class Order(msgspec.Struct, frozen=True):
    column: str
    descending: bool = False
    nulls: Literal["first", "last"] | None = None


class Query(msgspec.Struct, frozen=True):
    select: tuple[Item, ...] = (Star(),)
    where: tuple[Condition, ...] = ()
    """All of them must hold."""
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
