"""Tables in memory, filled from the log: for verification, time travel and tests of projections."""

from __future__ import annotations

from typing import Any

from drover.eventlog.codec import Codec
from drover.eventlog.log import StoredCommit
from drover.projection.projection import Projection, raw_lines
from drover.readmodel.table import AppendTable, Key, KeyedTable, R


class MemoryTables:
    """Tables that keep every row in memory, without a bound: only for logs, or parts of one, that fit into memory."""

    def __init__(self, projection: Projection) -> None:
        self._projection = projection
        self._codec = Codec(projection.events, projection.upcasters)
        self._keyed: dict[str, dict[Key, Any]] = {t.name: {} for t in projection.keyed}
        self._appended: dict[str, list[tuple[Any, ...]]] = {t.name: [] for t in projection.appended}

    def get(self, table: KeyedTable[R], key: Key) -> R | None:
        return self._keyed[table.name].get(key)

    def put(self, table: KeyedTable[R], row: R) -> None:
        self._keyed[table.name][table.key_of(row)] = row

    def delete(self, table: KeyedTable[R], key: Key) -> None:
        self._keyed[table.name].pop(key, None)

    def append(self, table: AppendTable, row: tuple[Any, ...]) -> None:
        self._appended[table.name].append(row)

    def fold(self, commit: StoredCommit) -> None:
        """Apply the events of the next commit."""
        fold = self._projection.fold
        events = self._codec.decode(commit.payload)
        for line, (event, raw) in enumerate(zip(events, raw_lines(commit.payload), strict=True)):
            fold(self, event, raw, (commit.seq, line))

    def rows(self, table: KeyedTable[Any] | AppendTable) -> list[tuple[Any, ...]]:
        """Return all rows of a table as tuples in the order of its columns. Rows of a keyed table are in no particular
        order."""
        if isinstance(table, AppendTable):
            return self._appended[table.name]
        return list(map(table.to_record, self._keyed[table.name].values()))
