"""The read model of one context: its tables and relations, and the SQL that creates them."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

import msgspec

from drover.domain.contexts import context_named
from drover.readmodel import united
from drover.readmodel.alerts import ALERTS, AlertRow
from drover.readmodel.events import EVENTS
from drover.readmodel.form import Definition, read_forms, schema_of
from drover.readmodel.live import LiveRelation, live_relation
from drover.readmodel.reader_views import ReaderView, reader_views
from drover.readmodel.relation import Relation, View, relation
from drover.readmodel.table import AppendTable, KeyedTable

GENERATED: Final = "tables.sql"
"""The file with the SQL that `make contracts` generates from the declarations: all tables, and the declared views."""
BY_HAND: Final = "views.sql"
"""The file with the SQL of hand-written views."""


class ReadModel(msgspec.Struct, frozen=True):
    context: str
    own_tables: tuple[KeyedTable[Any] | AppendTable, ...]
    relations: tuple[Relation, ...]
    functions: tuple[str, ...] = ()
    """The SQL of functions that several views and queries share."""
    rules: int = 1
    """The version of the fold. Raise it whenever the fold gives other rows for the same events. `make contracts`
    notices changes of the tables by itself."""

    @property
    def tables(self) -> tuple[KeyedTable[Any] | AppendTable, ...]:
        """The context's own tables, and those that every context has."""
        return (EVENTS, ALERTS, *self.own_tables)

    @property
    def views(self) -> tuple[Relation, ...]:
        """The relations whose view is generated from their declaration."""
        alerts = relation(self.context, "alerts", AlertRow, view=View(ALERTS.name, "a"))
        return (alerts, *(one for one in self.relations if one.view is not None))

    @property
    def live(self) -> tuple[LiveRelation, ...]:
        """The relations whose changes are published. Empty for a private context."""
        if context_named(self.context).is_private:
            return ()
        tables = {table.name: table for table in self.tables}
        found = (live_relation(one, self.context, tables) for one in (united.ALERTS, *self.relations))
        return tuple(one for one in found if one is not None)

    @property
    def schema(self) -> str:
        """The schema of this form of the read model."""
        return schema_of(self.context)

    @property
    def version(self) -> int:
        """Grows with every change of the form."""
        form = read_forms().get(self.context)
        return self.rules + (0 if form is None else form.number)

    @property
    def definition(self) -> Definition:
        return Definition(self.rules, self.ddl)

    @property
    def reader_views(self) -> tuple[ReaderView, ...]:
        """The views of the read model that people may read with SQL."""
        return reader_views(context_named(self.context), self.relations)

    @property
    def ddl(self) -> str:
        """The SQL that creates the read model. Its names have no schema: run it with the search path set to the
        schema."""
        folder = files("drover.readmodel") / self.context
        return "\n".join(
            (folder / name).read_text(encoding="utf-8") for name in (GENERATED, BY_HAND) if (folder / name).is_file()
        )
