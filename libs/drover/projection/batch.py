"""Tables in memory for one batch after another: they hold the rows that events need, and collect what changed. No
SQL."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

import msgspec

from drover.projection.errors import UndeclaredRow
from drover.projection.projection import Projection
from drover.readmodel.table import AppendTable, Key, KeyedTable, R

CACHED_ROWS_MAX: Final = 50_000
"""How many rows one projection caches between batches. Rows that the last two batches changed stay cached even beyond
this number."""


class Changes(msgspec.Struct):
    """What a batch changes, by table name: the new rows as Postgres records, and the keys of deleted rows."""

    appends: dict[str, list[tuple[Any, ...]]]
    upserts: dict[str, list[tuple[Any, ...]]]
    deletes: dict[str, list[Key]]
    created: dict[str, list[Key]] = {}
    """The upserted rows that did not exist before. Filled when rows are written, only for tables with live readers."""


class BatchTables:
    """A bounded cache of rows. It includes the changes of batches that are not written to the database yet.

    Discard it after any failure: it may hold rows that were never written.
    """

    def __init__(self, projection: Projection, cached_rows_max: int = CACHED_ROWS_MAX) -> None:
        self._projection = projection
        self._cached_rows_max = cached_rows_max
        # None: the row does not exist. Dicts keep insertion order, so the first keys are the oldest.
        self._known: dict[str, dict[Key, Any]] = {t.name: {} for t in projection.keyed}
        self._in_flight: dict[str, set[Key]] = {t.name: set() for t in projection.keyed}
        self._begin()

    def _begin(self) -> None:
        self._changed: dict[str, set[Key]] = {t.name: set() for t in self._projection.keyed}
        self._appended: dict[str, list[tuple[Any, ...]]] = {t.name: [] for t in self._projection.appended}

    def get(self, table: KeyedTable[R], key: Key) -> R | None:
        try:
            row: R | None = self._known[table.name][key]
        except KeyError:
            raise UndeclaredRow(table.name, key) from None
        return row

    def put(self, table: KeyedTable[R], row: R) -> None:
        key = table.key_of(row)
        self._known[table.name][key] = row
        self._changed[table.name].add(key)

    def delete(self, table: KeyedTable[R], key: Key) -> None:
        self._known[table.name][key] = None
        self._changed[table.name].add(key)

    def append(self, table: AppendTable, row: tuple[Any, ...]) -> None:
        self._appended[table.name].append(row)

    def unknown(self, table: KeyedTable[Any], keys: set[Key]) -> list[Key]:
        """Return which of these keys are not cached, so their rows must be loaded. Cached ones become the most recently
        used."""
        known = self._known[table.name]
        missing = []
        for key in keys:
            if key in known:
                known[key] = known.pop(key)
            else:
                missing.append(key)
        return missing

    def loaded(self, table: KeyedTable[R], keys: list[Key], rows: list[R]) -> None:
        """Add rows that were loaded from the database. Note for the other keys that they have no row there."""
        known = self._known[table.name]
        known.update(dict.fromkeys(keys))
        known.update((table.key_of(row), row) for row in rows)

    def take(self) -> Changes:
        """End the batch: return what it changed, and reduce the cache to its maximum size."""
        changes = Changes(self._appended, {}, {})
        for table in self._projection.keyed:
            name, to_record = table.name, table.to_record
            known, changed = self._known[name], self._changed[name]
            rows = [(key, known[key]) for key in changed]
            changes.upserts[name] = [to_record(row) for _, row in rows if row is not None]
            changes.deletes[name] = [key for key, row in rows if row is None]
        self._evict()
        self._in_flight = self._changed
        self._begin()
        return changes

    def _evict(self) -> None:
        """Remove the oldest rows from the cache, but no row that is not written yet: it would be loaded in its old
        state.

        Rows of the largest table are removed first: the rows of small tables are needed by events of all kinds.
        """
        excess = self.cached - self._cached_rows_max
        for name, known in sorted(self._known.items(), key=lambda table: -len(table[1])):
            if excess <= 0:
                return
            kept = self._changed[name] | self._in_flight[name]
            old = list(islice((key for key in known if key not in kept), excess))
            for key in old:
                del known[key]
            excess -= len(old)

    @property
    def cached(self) -> int:
        return sum(len(known) for known in self._known.values())
