"""The syntax tree of a PostgREST query. It knows neither SQL nor which relations exist."""

from __future__ import annotations

from typing import Literal

import msgspec

Operator = Literal["eq", "neq", "gt", "gte", "lt", "lte", "like", "ilike", "cs", "cd", "in", "is"]


class Path(msgspec.Struct, frozen=True):
    """A path into a JSON value: `->a->0->>b`."""

    keys: tuple[str, ...]
    text: bool = False
    """Whether the path ends in `->>`: then the value is text, not JSON."""


class Star(msgspec.Struct, frozen=True):
    """`*` in a select: every column."""


class Count(msgspec.Struct, frozen=True):
    """`count()`: the number of rows instead of the rows."""

    alias: str | None = None


class Column(msgspec.Struct, frozen=True):
    name: str
    alias: str | None = None
    path: Path | None = None
    cast: str | None = None
    """The name of the type in a cast, as the client sent it."""


class Embed(msgspec.Struct, frozen=True):
    """Rows of a related relation inside each row."""

    relation: str
    """The name of the relationship, usually the same as the relation's."""
    query: Query
    """Select, filters, order and limit of the embedded rows. With an empty select, as in `jobs()`, the embedded rows
    are not shown."""
    alias: str | None = None
    inner: bool = False
    """Whether rows without an embedded row are left out (`!inner`)."""
    hint: str | None = None
    """Chooses one of several relationships to the same relation, as in `jobs!job_id(…)`."""

    @property
    def key(self) -> str:
        return self.alias or self.relation


Item = Star | Count | Column | Embed


class Filter(msgspec.Struct, frozen=True):
    column: str
    operator: Operator
    value: str | tuple[str, ...]
    """The value to compare with: a tuple for `in`, otherwise the text as the client sent it."""
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
    """The embed whose column orders the rows, as in `order=jobs(created_at)`. None: a column of the row itself."""


class Query(msgspec.Struct, frozen=True):
    select: tuple[Item, ...] = (Star(),)
    where: tuple[Condition, ...] = ()
    """Conditions, joined by AND."""
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0

    def embed(self, name: str) -> Embed | None:
        """Return the embed of this name, searched by alias first, then by relation."""
        embeds = [item for item in self.select if isinstance(item, Embed)]
        by_key = next((embed for embed in embeds if embed.key == name), None)
        return by_key or next((embed for embed in embeds if embed.relation == name), None)
