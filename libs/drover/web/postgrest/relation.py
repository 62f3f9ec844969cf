"""How a relation that clients may read is described: columns, types, what it embeds. Its table is made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

import msgspec


class PgType(StrEnum):
    """Types of columns, by the name that a cast uses."""

    TEXT = "text"
    UUID = "uuid"
    INTEGER = "int4"
    BIGINT = "int8"
    NUMERIC = "numeric"
    FLOAT = "float8"
    BOOLEAN = "bool"
    TIMESTAMPTZ = "timestamptz"
    DATE = "date"
    JSONB = "jsonb"
    TEXT_ARRAY = "text[]"


class Relationship(msgspec.Struct, frozen=True):
    """How the rows of one relation belong to those of another: where `column` equals `target_column`."""

    target: str
    """The relation that is embedded."""
    kind: Literal["to-one", "to-many"]
    """Embedded as an object or null, or as an array."""
    column: str
    """Of the relation that embeds."""
    target_column: str


class Relation(msgspec.Struct, frozen=True):
    name: str
    """As clients call it."""
    schema: str
    """Where it lives: `rm_<context>`. Empty for one that is united from several."""
    columns: Mapping[str, PgType]
    """In the order in which `*` gives them."""
    context: str
    """Whose positions say how fresh it is; of a united one, of any of `united`."""
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


class Sight(msgspec.Struct, frozen=True):
    """What a caller may see beside the relation that it asked for, and of which relation only some rows."""

    relations: Mapping[str, Relation] = {}
    """Those that it may embed."""
    only: Mapping[str, Mapping[str, str]] = {}
    """By relation: columns and the value that they must have, whatever else is asked for."""


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
