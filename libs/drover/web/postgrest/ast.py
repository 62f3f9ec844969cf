"""The syntax tree of a PostgREST query. No SQL, no relations."""

from __future__ import annotations

from typing import Literal

import msgspec

Operator = Literal["eq", "neq", "gt", "gte", "lt", "lte", "like", "ilike", "cs", "cd", "in", "is"]


class Path(msgspec.Struct, frozen=True):
    """A path into a JSON value: `->a->0->>b`."""

    keys: tuple[str, ...]
    text: bool = False
    """True if it ends in `->>`: the value is text, not JSON."""


class Star(msgspec.Struct, frozen=True):
    """Every column."""


class Count(msgspec.Struct, frozen=True):
    """`count()`: the number of rows instead of the rows."""

    alias: str | None = None


class Column(msgspec.Struct, frozen=True):
    name: str
    alias: str | None = None
    path: Path | None = None
    cast: str | None = None
    """The type name, as sent."""


class Embed(msgspec.Struct, frozen=True):
    """Rows of a related relation inside each row."""

    relation: str
    """The name of the relationship, usually the same as the relation's."""
    query: Query
    """Select, filters, order and limit of the embedded rows. An empty select shows none of them."""
    alias: str | None = None
    inner: bool = False
    """Leave out rows that have no embedded row."""
    hint: str | None = None
    """Picks one of several relationships: `jobs!job_id(…)`."""

    @property
    def key(self) -> str:
        return self.alias or self.relation


Item = Star | Count | Column | Embed


class Filter(msgspec.Struct, frozen=True):
    column: str
    operator: Operator
    value: str | tuple[str, ...]
    """A tuple for `in`; otherwise the text as sent."""
    negated: bool = False
    path: Path | None = None


class Junction(msgspec.Struct, frozen=True):
    kind: Literal["and", "or"]
    parts: tuple[Filter | Junction, ...]
    negated: bool = False


Condition = Filter | Junction


class Order(msgspec.Struct, frozen=True):
    column: str
    descending: bool = False
    nulls: Literal["first", "last"] | None = None
    path: Path | None = None
    embed: str | None = None
    """`order=jobs(created_at)`: order by a column of this embed."""


class Query(msgspec.Struct, frozen=True):
    select: tuple[Item, ...] = (Star(),)
    where: tuple[Condition, ...] = ()
    """Conditions, joined by AND."""
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0

    def embed(self, name: str) -> Embed | None:
        """The embed of this name; aliases come before relations."""
        embeds = [item for item in self.select if isinstance(item, Embed)]
        by_key = next((embed for embed in embeds if embed.key == name), None)
        return by_key or next((embed for embed in embeds if embed.relation == name), None)
