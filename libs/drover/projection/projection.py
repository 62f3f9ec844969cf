"""What a projection is: tables described as data and a pure fold over events. Nothing here reads or writes anything.

The same fold serves live projection, verification in memory and time travel; only the `Tables` behind it differ.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from drover.eventlog.codec import Upcaster
from drover.projection.errors import RowMissing

R = TypeVar("R", bound=msgspec.Struct)

Key = Hashable
"""The value of a one-column key, or the tuple of a longer one."""
Position = tuple[int, int]
"""(sequence of the commit, line within it from 0): names one event of a context, and the rows that derive from it."""


@dataclass(frozen=True, eq=False)
class KeyedTable(Generic[R]):
    """Rows that change, found by key."""

    name: str
    row: type[R]
    """A frozen struct whose fields are the columns, in the same order."""
    types: Mapping[str, str]
    """The Postgres type of each column."""
    key: tuple[str, ...]

    def __post_init__(self) -> None:
        assert tuple(self.types) == self.row.__struct_fields__, f"{self.name}: columns and fields of the row differ"
        assert self.row.__struct_config__.frozen, f"{self.name}: rows are shared with a cache and must not change"
        assert set(self.key) <= set(self.types), f"{self.name}: the key names no column"

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.types)

    @cached_property
    def key_of(self) -> Callable[[R], Key]:
        return attrgetter(*self.key)


@dataclass(frozen=True, eq=False)
class AppendTable:
    """Rows that are only ever added, as plain tuples in the order of the columns: this is the hot path."""

    name: str
    types: Mapping[str, str]
    key: tuple[str, ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.types)


class Tables(Protocol):
    """What a fold may do to its tables."""

    def get(self, table: KeyedTable[R], key: Key) -> R | None: ...

    def put(self, table: KeyedTable[R], row: R) -> None: ...

    def delete(self, table: KeyedTable[R], key: Key) -> None: ...

    def append(self, table: AppendTable, row: tuple[Any, ...]) -> None: ...


def raw_lines(payload: bytes) -> list[str]:
    """The JSON of each event of a commit, in the order in which the codec decodes them."""
    # Not str.splitlines, which also splits at U+2028 and others that JSON leaves as they are.
    return payload.decode().removesuffix("\n").split("\n") if payload else []


def need(tables: Tables, table: KeyedTable[R], key: Key) -> R:
    """The row that an earlier event must have made."""
    row = tables.get(table, key)
    if row is None:
        raise RowMissing(table.name, key)
    return row


Fold = Callable[[Tables, Any, str, Position], None]
"""(tables, event, its raw JSON line, its position). Pure but for the tables."""
Reads = Mapping[type, tuple[tuple[KeyedTable[Any], Callable[[Any], Key]], ...]]
"""For each type of event, the rows that its fold may look at: tables, and the key from the event.

Rows that it only puts need no mention.
"""


@dataclass(frozen=True, kw_only=True)
class Projection:
    """One context's read model."""

    context: str
    name: str
    schema: str
    ddl: str
    """SQL with unqualified names, run with the search path set to the schema: a rebuild can make it elsewhere."""
    tables: tuple[KeyedTable[Any] | AppendTable, ...]
    fold: Fold
    reads: Reads
    events: Any
    """Union of the event types, for decoding."""
    upcasters: Mapping[str, Upcaster] = field(default_factory=dict)
    version: int = 1
    """Rises whenever `fold` gives other rows for the same events: the read model is then folded anew."""

    @property
    def keyed(self) -> tuple[KeyedTable[Any], ...]:
        return tuple(t for t in self.tables if isinstance(t, KeyedTable))

    @property
    def appended(self) -> tuple[AppendTable, ...]:
        return tuple(t for t in self.tables if isinstance(t, AppendTable))

    @property
    def hash(self) -> str:
        return hashlib.sha256(f"{self.version}\n{self.ddl}".encode()).hexdigest()
