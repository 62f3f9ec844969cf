"""What one type of event means to the read model, as data. The rules live with their tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from drover.projection.projection import Tables
from drover.readmodel.table import Key, KeyedTable


class Rule(NamedTuple):
    apply: Callable[[Tables, Any], None]
    entities: Callable[[Any], tuple[str, ...]]
    """Ids of what it is about."""
    reads: tuple[tuple[KeyedTable[Any], Callable[[Any], Key]], ...] = ()
    """Rows that `apply` may look at."""


Rules = Mapping[type, Rule]
