"""What a projection is: the tables of a read model, and a pure function (the fold) that applies events to them. No I/O.

The same fold serves live projection, verification in memory and time travel; only the `Tables` differ.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from msgspec.structs import replace

from drover.eventlog.codec import Upcaster
from drover.projection.errors import RowMissing
from drover.readmodel.form import without_comments
from drover.readmodel.live import LiveRelation
from drover.readmodel.reader_views import ReaderView
from drover.readmodel.table import AppendTable, Key, KeyedTable, R

Position = tuple[int, int]
"""(sequence of the commit, number of the line in it from 0): identifies one event of a context, and the rows made from
it."""
LINES_PER_COMMIT_MAX: Final = 1 << 16
"""The maximum number of events in a commit: `row_id` has room for so many. A commit of 256 KiB has far fewer."""


class Tables(Protocol):
    """What a fold may do with its tables: read, put, delete and append rows."""

    def get(self, table: KeyedTable[R], key: Key) -> R | None: ...

    def put(self, table: KeyedTable[R], row: R) -> None: ...

    def delete(self, table: KeyedTable[R], key: Key) -> None: ...

    def append(self, table: AppendTable, row: tuple[Any, ...]) -> None: ...


def raw_lines(payload: bytes) -> list[str]:
    """Return the JSON of each event of a commit, in the order in which the codec decodes them."""
    # Not str.splitlines, which also splits at U+2028 and others that JSON does not escape.
    return payload.decode().removesuffix("\n").split("\n") if payload else []


def need(tables: Tables, table: KeyedTable[R], key: Key) -> R:
    """Return a row that an earlier event must have created. Raises RowMissing if it does not exist."""
    row = tables.get(table, key)
    if row is None:
        raise RowMissing(table.name, key)
    return row


def change(tables: Tables, table: KeyedTable[R], key: Key, /, **fields: Any) -> R:
    """Change fields of a row that an earlier event must have created, and return the changed row. Raises RowMissing."""
    row = replace(need(tables, table, key), **fields)
    tables.put(table, row)
    return row


def row_id(position: Position) -> int:
    """Make the id of the row that an event adds to a history: ascending, and the same in every rebuild."""
    seq, line = position
    return seq * LINES_PER_COMMIT_MAX + line


Fold = Callable[[Tables, Any, str, Position], None]
"""Called with (tables, event, its raw JSON line, its position). Pure except for the tables."""
Reads = Mapping[type, tuple[tuple[KeyedTable[Any], Callable[[Any], Key]], ...]]
"""By event type, the rows that its fold may read: tables, each with a function from the event to the key.

Rows that the fold only writes need not be listed.
"""


@dataclass(frozen=True, kw_only=True)
class Projection:
    """The definition of one context's read model."""

    context: str
    name: str
    schema: str
    ddl: str
    """SQL that creates the tables. Its names have no schema, so that a rebuild can create the tables in another schema
    by the search path."""
    tables: tuple[KeyedTable[Any] | AppendTable, ...]
    fold: Fold
    reads: Reads
    events: Any
    """The union of the context's event types, for decoding."""
    upcasters: Mapping[str, Upcaster] = field(default_factory=dict)
    live: tuple[LiveRelation, ...] = ()
    """Relations whose changed rows are published after each batch (see `readmodel.live`)."""
    reader_views: tuple[ReaderView, ...] = ()
    """The views of the read model that people may read with SQL."""
    version: int = 1
    """Grows whenever `fold` gives other rows for the same events, or the tables change. A program with a lower version
    goes on with the columns that it knows."""

    @property
    def keyed(self) -> tuple[KeyedTable[Any], ...]:
        return tuple(t for t in self.tables if isinstance(t, KeyedTable))

    @property
    def appended(self) -> tuple[AppendTable, ...]:
        return tuple(t for t in self.tables if isinstance(t, AppendTable))

    @property
    def hash(self) -> str:
        """Hash of version and DDL without comments."""
        return hashlib.sha256(f"{self.version}\n{without_comments(self.ddl)}".encode()).hexdigest()
