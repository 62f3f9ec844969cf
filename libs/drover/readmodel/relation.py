"""Relations: what clients may read. Declares their columns, embeds and views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from drover.readmodel.column import Column, PgType, column, columns_of, keys_first
from drover.readmodel.form import schema_of


class Relationship(msgspec.Struct, frozen=True):
    """How two relations are joined: a row embeds those rows of the target whose `target_column` equals its `column`."""

    target: str
    """The embedded relation."""
    kind: Literal["to-one", "to-many"]
    """`to-one` is embedded as an object or null, `to-many` as an array."""
    column: str
    """The column of the relation that embeds."""
    target_column: str


class View(msgspec.Struct, frozen=True):
    """What a generated view selects from."""

    table: str
    letter: str
    """The alias of the table in the SQL of computed columns."""
    joins: str = ""
    parts: Mapping[str, str] = {}
    """By name, other tables that computed columns read, each with the name of its column that holds the key of this
    view's row. A new row in such a table changes this view's row, too."""


class Relation(msgspec.Struct, frozen=True):
    name: str
    """The name that clients use for the relation."""
    schema: str
    """The schema of the read model's form. Empty for a united relation."""
    columns: Mapping[str, PgType]
    """The columns in the order in which `*` selects them."""
    context: str
    """The context whose positions tell how fresh the rows are. Empty for a united relation, whose contexts are in
    `united`."""
    shape: tuple[Column, ...] = ()
    """The same columns with their types and descriptions, for documentation and views."""
    view: View | None = None
    """The view that is generated. None: the relation is a table or a hand-written view."""
    order: tuple[str, ...] = ()
    """Tie-breaking columns, appended to the client's order, so that pages do not overlap."""
    relationships: Mapping[str, Relationship] = {}
    """The relations that it can embed, by the name that clients use."""
    aliases: Mapping[str, Mapping[str, str]] = {}
    """Other names of values, by column. A filter by `eq`, `neq` or `in` may use them instead of the stored values."""
    owner: str | None = None
    """The column with the id of the device that owns a row. None: no device owns rows."""
    sealed: Mapping[str, str | None] = {}
    """Columns that are sealed (encrypted) in the database and opened for the answer, each with the column that says why
    opening failed, if there is one. Neither of the two can be selected in parts, filtered or ordered by."""
    scalars: frozenset[str] = frozenset()
    """Columns whose values are texts or numbers. Filters and `order` compare them as texts."""
    united: tuple[str, ...] = ()
    """The contexts whose tables of this name are united here. The rows have the context as their first column."""

    def client_type(self, column: str) -> PgType | None:
        """Return the type of a column for clients. A scalar counts as text, because supabase-js would parse a jsonb."""
        return PgType.TEXT if column in self.scalars else self.columns.get(column)

    @property
    def contexts(self) -> tuple[str, ...]:
        return self.united or (self.context,)


def one(target: str, column: str, target_column: str = "id") -> Relationship:
    return Relationship(target=target, kind="to-one", column=column, target_column=target_column)


def many(target: str, target_column: str, column: str = "id") -> Relationship:
    return Relationship(target=target, kind="to-many", column=column, target_column=target_column)


def relation(
    context: str,
    name: str,
    shape: type[msgspec.Struct] | Sequence[Column],
    *,
    view: View | None = None,
    computed: Mapping[str, str] | None = None,
    order: tuple[str, ...] = ("id",),
    embeds: tuple[Relationship, ...] = (),
    aliases: Mapping[str, Mapping[str, str]] | None = None,
    owner: str | None = None,
    sealed: Mapping[str, str | None] | None = None,
) -> Relation:
    """Declare a relation of one context. `computed`: the SQL of computed columns. An embed is named after the relation
    that is embedded."""
    columns = _shaped(shape, order, computed or {})
    return Relation(
        name=name,
        schema=schema_of(context),
        context=context,
        columns={one.name: one.type for one in columns},
        shape=columns,
        view=view,
        order=order,
        relationships={to.target: to for to in embeds},
        aliases=aliases or {},
        owner=owner,
        sealed=sealed or {},
        scalars=frozenset(one.name for one in columns if one.is_scalar),
    )


def united(name: str, row: type[msgspec.Struct], contexts: tuple[str, ...], *, order: tuple[str, ...]) -> Relation:
    """Declare a relation that unites the rows of several contexts, with the context's name as the first column."""
    columns = (column("context", str), *columns_of(row))
    return Relation(
        name=name,
        schema="",
        context="",
        columns={one.name: one.type for one in columns},
        shape=columns,
        order=order,
        united=contexts,
    )


def _shaped(
    shape: type[msgspec.Struct] | Sequence[Column], order: tuple[str, ...], computed: Mapping[str, str]
) -> tuple[Column, ...]:
    columns = keys_first(columns_of(shape), order) if isinstance(shape, type) else tuple(shape)
    names = {one.name for one in columns}
    assert computed.keys() <= names, f"no such columns: {computed.keys() - names}"
    return tuple(
        msgspec.structs.replace(one, sql=computed[one.name]) if one.name in computed else one for one in columns
    )


def select_list(columns: Sequence[Column], letter: str) -> list[str]:
    """Make the SELECT list of these columns, each under its own name. `letter`: the alias of the table."""
    return [f"{letter}.{one.name}" if one.sql is None else f"{one.sql} AS {one.name}" for one in columns]


def check_relations(relations: Mapping[str, Relation]) -> None:
    """Check that all columns and relations that these declarations name exist, so that queries on them are valid SQL.
    For tests."""
    for name, relation in relations.items():
        columns = relation.columns
        assert name == relation.name
        assert {*relation.order, *relation.aliases, *([relation.owner] if relation.owner else [])} <= columns.keys()
        assert {*relation.sealed, *relation.sealed.values()} - {None} <= columns.keys()
        for key, to in relation.relationships.items():
            place = f"{name} embeds {key}"
            assert key not in columns, f"{place}: there is a column of this name"
            assert to.target in relations, f"{place}: there is no {to.target}"
            target = relations[to.target].columns
            assert columns[to.column] is target[to.target_column], f"{place}: the types of its columns differ"
