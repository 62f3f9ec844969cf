"""What a PostgREST query means, free of its spelling. No SQL and no knowledge of any relation."""

from __future__ import annotations

from typing import Literal

import msgspec

Operator = Literal["eq", "neq", "gt", "gte", "lt", "lte", "like", "ilike", "cs", "cd", "in", "is"]


class Path(msgspec.Struct, frozen=True):
    """A way into a JSON value: `->a->0->>b`."""

    keys: tuple[str, ...]
    text: bool = False
    """Whether it ends in text (`->>`), not in JSON."""


class Star(msgspec.Struct, frozen=True):
    """Every column."""


class Count(msgspec.Struct, frozen=True):
    """`count()`: how many rows there are, instead of the rows."""

    alias: str | None = None


class Column(msgspec.Struct, frozen=True):
    name: str
    alias: str | None = None
    path: Path | None = None
    cast: str | None = None
    """The name of a type, as it was sent."""


class Embed(msgspec.Struct, frozen=True):
    """Rows of a related relation inside each row."""

    relation: str
    """The name of the relationship, which is mostly that of the relation."""
    query: Query
    """What of it: filters, order and limit are of the embedded rows. An empty select shows nothing."""
    alias: str | None = None
    inner: bool = False
    """Whether rows without any such row are left out."""
    hint: str | None = None
    """Which relationship is meant, where the client says so: `jobs!job_id(…)`."""

    @property
    def key(self) -> str:
        return self.alias or self.relation


Item = Star | Count | Column | Embed


class Filter(msgspec.Struct, frozen=True):
    column: str
    operator: Operator
    value: str | tuple[str, ...]
    """A tuple for `in`, the text as it was sent for all others."""
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
    """`order=jobs(created_at)`: the column is one of this embed."""


class Query(msgspec.Struct, frozen=True):
    select: tuple[Item, ...] = (Star(),)
    where: tuple[Condition, ...] = ()
    """All of them must hold."""
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0

    def embed(self, name: str) -> Embed | None:
        """The embed that clients mean by this name: an alias before a relation."""
        embeds = [item for item in self.select if isinstance(item, Embed)]
        by_key = next((embed for embed in embeds if embed.key == name), None)
        return by_key or next((embed for embed in embeds if embed.relation == name), None)
