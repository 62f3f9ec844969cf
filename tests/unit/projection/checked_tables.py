"""Folds events of any context in memory, and checks that rules declare the rows that they read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from drover.domain.event import Event
from drover.eventlog.log import StoredCommit
from drover.projection.memory import MemoryTables
from drover.readmodel.table import Key, KeyedTable, R

START = datetime(2026, 3, 1, tzinfo=UTC)


def minute(number: int) -> datetime:
    return START + timedelta(minutes=number)


class CheckedTables(MemoryTables):
    """Gives only rows that the event's rule has declared: others would not be loaded where it matters."""

    declared: set[tuple[str, Key]]

    def get(self, table: KeyedTable[R], key: Key) -> R | None:
        assert (table.name, key) in self.declared, f"{table.name} {key} is read but not declared"
        return super().get(table, key)

    def row(self, table: KeyedTable[R], key: Key) -> R:
        row = super().get(table, key)
        assert row is not None
        return row

    def shown(self, table: Any) -> list[dict[str, Any]]:
        return [dict(zip(table.columns, row, strict=True)) for row in self.rows(table)]

    def fold_events(self, seq: int, *events: Event) -> None:
        """A commit for each from `seq` on, so that every declaration is seen."""
        for line, event in enumerate(events):
            self.declared = {(table.name, key_of(event)) for table, key_of in self._projection.reads[type(event)]}
            self.fold(StoredCommit(seq + line, "c", 1, START, self._codec.encode([event])))


def stamp(events: tuple[Event, ...], *, by: str = "service_role") -> None:
    """The first event happens at minute 1."""
    for n, event in enumerate(events, start=1):
        event.n, event.at, event.by, event.cause = n, minute(n), event.by or by, f"command-{n}"
