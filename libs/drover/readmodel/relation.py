"""Relations: what clients may read, with its columns, what it embeds, and how its view is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from drover.readmodel.column import Column, PgType, column, columns_of, keys_first


class Relationship(msgspec.Struct, frozen=True):
    """How the rows of one relation belong to those of another: where `column` equals `target_column`."""

    target: str
    """The relation that is embedded."""
    kind: Literal["to-one", "to-many"]
    """Embedded as an object or null, or as an array."""
    column: str
    """Of the relation that embeds."""
    target_column: str


class View(msgspec.Struct, frozen=True):
    """Where a relation that is made from its declaration takes its rows from."""

    table: str
    letter: str
    """What the table is called in the expressions of computed columns."""
    joins: str = ""
    parts: Mapping[str, str] = {}
    """Other tables that computed columns look at, each with its column that names the row: where one of their rows is
    added, this one is another, too."""


class Relation(msgspec.Struct, frozen=True):
    name: str
    """As clients call it."""
    schema: str
    """Where it lives: `rm_<context>`. Empty for one that is united from several."""
    columns: Mapping[str, PgType]
    """In the order in which `*` gives them."""
    context: str
    """Whose positions say how fresh it is; of a united one, of any of `united`."""
    shape: tuple[Column, ...] = ()
    """The same columns with all that is known of them: what documents and views are made from."""
    view: View | None = None
    """None: it is a table, or a view that is written by hand."""
    order: tuple[str, ...] = ()
    """Columns that settle the order where the client's leaves rows equal, so that pages do not overlap."""
    relationships: Mapping[str, Relationship] = {}
    """What it can embed, by the name that clients use."""
    aliases: Mapping[str, Mapping[str, str]] = {}
    """Other words for values, by column: what a filter by `eq`, `neq` or `in` may say, and what it then means."""
    owner: str | None = None
    """The column with the id of the device that a row belongs to; None where rows belong to none."""
    sealed: Mapping[str, str] = {}
    """Columns that are sealed in the database and opened for the answer, each with the column that says why one could
    not be. Neither can be asked for in parts, filtered or ordered by."""
    united: tuple[str, ...] = ()
    """The contexts that each have a table of this name: rows of all of them, with the column `context` in front."""

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
    """Of one context. `computed`: columns of its view with their SQL. Each embedded relation has its own name."""
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
    """Of all contexts: the rows of each, with the name of the context in front."""
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
    """What a SELECT of these columns names, each by its own name; `letter`: what the table is called in it."""
    return [f"{letter}.{one.name}" if one.sql is None else f"{one.sql} AS {one.name}" for one in columns]


def check_relations(relations: Mapping[str, Relation]) -> None:
    """What must hold for every query to be valid SQL; for a test of whoever describes relations."""
    for name, relation in relations.items():
        columns = relation.columns
        assert name == relation.name
        assert {*relation.order, *relation.aliases, *([relation.owner] if relation.owner else [])} <= columns.keys()
        assert {*relation.sealed, *relation.sealed.values()} <= columns.keys()
        for key, to in relation.relationships.items():
            place = f"{name} embeds {key}"
            assert key not in columns, f"{place}: it is a column, too"
            assert to.target in relations, f"{place}: there is no {to.target}"
            target = relations[to.target].columns
            assert columns[to.column] is target[to.target_column], f"{place}: the types of its columns differ"
