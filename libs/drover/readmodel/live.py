"""Live relations: relations whose changed rows are published. Maps a changed row of a table to the key of the
relation's row.

A relation is live if each of its rows is made from one row of a table; aggregates are not live. This follows from how
the relation is declared, so nothing marks it as live.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any
from uuid import UUID

from drover.domain.contexts import context_named
from drover.readmodel.alerts import ALERTS
from drover.readmodel.column import PgType
from drover.readmodel.relation import Relation
from drover.readmodel.table import Key, Table

_CONTEXT = "context"
"""The name of the first column of a relation that unites several contexts."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LiveRelation:
    """A live relation in one context. A relation that unites several contexts has one for each of them."""

    relation: Relation
    context: str
    table: Table
    parts: Mapping[str, Table]
    """By name, other tables whose rows are shown inside this relation's rows."""

    @property
    def name(self) -> str:
        return self.relation.name

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return (_CONTEXT, *self.table.key) if self.relation.united else self.table.key

    @cached_property
    def withheld(self) -> tuple[str, ...]:
        """Columns that are null in every published row: sealed columns, the columns that say why a sealed one could not
        be opened, and texts that users wrote."""
        sealed = {*self.relation.sealed, *self.relation.sealed.values()}
        hidden = sealed | context_named(self.context).hidden_fields
        return tuple(name for name in self.relation.columns if name in hidden)

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables in which a change may change rows of the relation."""
        return (self.table.name, *self.parts)

    def part_key_of(self, part: str) -> Callable[[tuple[Any, ...]], Key]:
        """Return a function that reads, from a record of the table `part`, the key of the row in `table` that it
        belongs to."""
        assert self.relation.view is not None
        return itemgetter(self.parts[part].columns.index(self.relation.view.parts[part]))

    def told_key(self, key: Key) -> list[Any]:
        """Convert a key of `table` to the key of the relation's row that clients get: one value for each column in
        `key`."""
        values = [key] if len(self.table.key) == 1 else list(key)  # type: ignore[call-overload]  # a tuple
        shown = [_as_told(value, self.table.types[name]) for name, value in zip(self.table.key, values, strict=True)]
        return [self.context, *shown] if self.relation.united else shown

    def select_items(self) -> Iterator[str]:
        """Make the SELECT list for the relation's view, so that each row is as `/rest/v1` shows it."""
        for name, type_ in self.relation.columns.items():
            if name in self.withheld:
                yield f'NULL::{type_} AS "{name}"'
            elif self.relation.united and name == _CONTEXT:
                yield f"'{self.context}'::text AS \"{name}\""
            else:
                yield f'"{name}"'


def live_relation(relation: Relation, context: str, tables: Mapping[str, Table]) -> LiveRelation | None:
    """Make the live relation of a context. None if the relation's rows are not rows of one table."""
    if relation.united:
        table = tables[ALERTS.name]
    elif relation.view is not None:
        table = tables[relation.view.table]
    elif relation.name in tables:
        table = tables[relation.name]
    else:
        return None
    shown = {column.name for column in relation.shape if column.sql is None}
    assert shown.issuperset(table.key), f"{relation.name} does not show the key of {table.name}"
    parts = {} if relation.view is None else {name: tables[name] for name in relation.view.parts}
    return LiveRelation(relation=relation, context=context, table=table, parts=parts)


def _as_told(value: Any, type_: PgType) -> Any:
    return str(UUID(str(value))) if type_ is PgType.UUID else value
