"""Relations: what clients may read, with columns, embeds and views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from drover.readmodel.column import Column, PgType, column, columns_of, keys_first


class Relationship(msgspec.Struct, frozen=True):
    """Which rows of another relation belong to a row: those whose `target_column` equals `column`."""

    target: str
    """The embedded relation."""
    kind: Literal["to-one", "to-many"]
    """Embedded as an object or null, or as an array."""
    column: str
    """Of the embedding relation."""
    target_column: str


class View(msgspec.Struct, frozen=True):
    """The source of a generated view."""

    table: str
    letter: str
    """The table's alias in the expressions of computed columns."""
    joins: str = ""
    parts: Mapping[str, str] = {}
    """Other tables that computed columns read, each with the column that names the row: adding a row there changes this
    row, too."""


class Relation(msgspec.Struct, frozen=True):
    name: str
    """The name that clients use."""
    schema: str
    """Its schema: `rm_<context>`. Empty for a united relation."""
    columns: Mapping[str, PgType]
    """In the order of `*`."""
    context: str
    """The context whose positions say how fresh it is; for a united relation, any of `united`."""
    shape: tuple[Column, ...] = ()
    """The same columns with all that is known of them, for documentation and views."""
    view: View | None = None
    """None: it is a table or a hand-written view."""
    order: tuple[str, ...] = ()
    """Tie-breaking columns, appended to the client's order, so that pages do not overlap."""
    relationships: Mapping[str, Relationship] = {}
    """What it can embed, by the name that clients use."""
    aliases: Mapping[str, Mapping[str, str]] = {}
    """Alternative values, by column: what a filter by `eq`, `neq` or `in` may use, and what it then means."""
    owner: str | None = None
    """The column with the id of the device that owns a row. None: rows have no owner."""
    sealed: Mapping[str, str] = {}
    """Columns that are sealed in the database and opened for the answer, each with the column that says why opening
    failed. Neither can be selected in parts, filtered or ordered by."""
    united: tuple[str, ...] = ()
    """The contexts that each have a table of this name. It has the rows of all, with `context` as first column."""

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
    sealed: Mapping[str, str] | None = None,
) -> Relation:
    """A relation of one context. `computed`: columns of its view with their SQL. Embeds are named by their relation."""
    columns = _shaped(shape, order, computed or {})
    return Relation(
        name=name,
        schema=f"rm_{context}",
        context=context,
        columns={one.name: one.type for one in columns},
        shape=columns,
        view=view,
        order=order,
        relationships={to.target: to for to in embeds},
        aliases=aliases or {},
        owner=owner,
        sealed=sealed or {},
    )


def united(name: str, row: type[msgspec.Struct], contexts: tuple[str, ...], *, order: tuple[str, ...]) -> Relation:
    """A relation over all contexts: the rows of each, with the context's name as first column."""
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
    """The SELECT list of these columns, each under its own name. `letter`: the table's alias."""
    return [f"{letter}.{one.name}" if one.sql is None else f"{one.sql} AS {one.name}" for one in columns]


def check_relations(relations: Mapping[str, Relation]) -> None:
    """Check what every query relies on to be valid SQL; for tests of declarations."""
    for name, relation in relations.items():
        columns = relation.columns
        assert name == relation.name
        assert {*relation.order, *relation.aliases, *([relation.owner] if relation.owner else [])} <= columns.keys()
        assert {*relation.sealed, *relation.sealed.values()} <= columns.keys()
        for key, to in relation.relationships.items():
            place = f"{name} embeds {key}"
            assert key not in columns, f"{place}: there is a column of this name"
            assert to.target in relations, f"{place}: there is no {to.target}"
            target = relations[to.target].columns
            assert columns[to.column] is target[to.target_column], f"{place}: the types of its columns differ"
