"""The read model of one context: its tables and relations, and the SQL that makes them."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

import msgspec

from drover.domain.contexts import context_named
from drover.readmodel import united
from drover.readmodel.alerts import ALERTS, AlertRow
from drover.readmodel.events import EVENTS
from drover.readmodel.live import LiveRelation, live_relation
from drover.readmodel.relation import Relation, View, relation
from drover.readmodel.table import AppendTable, KeyedTable

GENERATED: Final = "tables.sql"
"""Written from the declarations by `make contracts`: all tables, and the views that are declared."""
BY_HAND: Final = "views.sql"
"""Views that are queries of their own."""


class ReadModel(msgspec.Struct, frozen=True):
    context: str
    own_tables: tuple[KeyedTable[Any] | AppendTable, ...]
    relations: tuple[Relation, ...]
    functions: tuple[str, ...] = ()
    """SQL of functions: rules that several views and queries share."""

    @property
    def tables(self) -> tuple[KeyedTable[Any] | AppendTable, ...]:
        """With those that every context has."""
        return (EVENTS, ALERTS, *self.own_tables)

    @property
    def views(self) -> tuple[Relation, ...]:
        """Relations whose view follows from their declaration."""
        alerts = relation(self.context, "alerts", AlertRow, view=View(ALERTS.name, "a"))
        return (alerts, *(one for one in self.relations if one.view is not None))

    @property
    def live(self) -> tuple[LiveRelation, ...]:
        """What is told as it changes. Nothing of a private context."""
        if context_named(self.context).is_private:
            return ()
        tables = {table.name: table for table in self.tables}
        found = (live_relation(one, self.context, tables) for one in (united.ALERTS, *self.relations))
        return tuple(one for one in found if one is not None)

    @property
    def ddl(self) -> str:
        """Unqualified names: it is run with the search path set to the schema."""
        folder = files("drover.readmodel") / self.context
        return "\n".join(
            (folder / name).read_text(encoding="utf-8") for name in (GENERATED, BY_HAND) if (folder / name).is_file()
        )
