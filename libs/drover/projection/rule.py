"""What one event type does to the read model, as data. Each rule is declared beside its table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from drover.projection.projection import Tables
from drover.readmodel.table import Key, KeyedTable


class Rule(NamedTuple):
    apply: Callable[[Tables, Any], None]
    entities: Callable[[Any], tuple[str, ...]]
    """Ids of the entities that the event is about."""
    reads: tuple[tuple[KeyedTable[Any], Callable[[Any], Key]], ...] = ()
    """Rows that `apply` may read."""


Rules = Mapping[type, Rule]


def change_no_row(tables: Tables, event: object) -> None:
    """Change no row: for events that are only shown in `events` or a history, or that only the decider needs."""
