"""Rows by key: a bounded number in memory, the others in a temporary file. For computing tables from long logs."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Final, Generic

import msgspec

from drover.projection.errors import SpillFull
from drover.readmodel.table import Key, KeyedTable, R

ROWS_MAX: Final = 50_000
"""How many rows of a table are kept in memory; beyond it, the least recently used half goes to the file."""
FILE_CACHE_KIB: Final = 32 * 1024

_encode: Final = msgspec.msgpack.Encoder().encode


class Spill(Generic[R]):
    """A dictionary of the rows of one table. The least recently used ones are in a temporary file."""

    def __init__(self, table: KeyedTable[R], rows_max: int = ROWS_MAX) -> None:
        self._table = table
        self._rows_max = rows_max
        self._rows: dict[Key, R] = {}
        self._decode = msgspec.msgpack.Decoder(table.row).decode
        self._stack = ExitStack()
        self._file: sqlite3.Connection | None = None

    def get(self, key: Key) -> R | None:
        row = self._rows.get(key)
        if row is None and self._file is not None and (row := self._read(key)) is not None:
            self.put(key, row)
        return row

    def put(self, key: Key, row: R) -> None:
        self._rows.pop(key, None)  # makes it the most recently used
        self._rows[key] = row
        if len(self._rows) > self._rows_max:
            self._put_aside()

    def pop(self, key: Key) -> R | None:
        row = self._rows.pop(key, None)
        if self._file is not None:
            kept = self._read(key)
            self._file.execute("DELETE FROM rows WHERE key = ?", (_encode(key),))
            return row if row is not None else kept
        return row

    def rest(self) -> Iterator[R]:
        """Yield all rows that were not popped, in any order."""
        yield from self._rows.values()
        if self._file is not None:
            for (kept,) in self._file.execute("SELECT row FROM rows"):
                row = self._decode(kept)
                if self._table.key_of(row) not in self._rows:  # else the file has an old state of it
                    yield row

    def close(self) -> None:
        self._stack.close()

    def _read(self, key: Key) -> R | None:
        assert self._file is not None
        found = self._file.execute("SELECT row FROM rows WHERE key = ?", (_encode(key),)).fetchone()
        return None if found is None else self._decode(found[0])

    def _put_aside(self) -> None:
        """Move the least recently used half of the rows to the file."""
        oldest = list(islice(self._rows, self._rows_max // 2))
        rows = ((_encode(key), _encode(self._rows[key])) for key in oldest)
        try:
            file = self._file or self._open()
            file.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", rows)
        except (OSError, sqlite3.OperationalError) as error:
            raise SpillFull(tempfile.tempdir or "the temporary folder", str(error)) from error
        for key in oldest:
            del self._rows[key]

    def _open(self) -> sqlite3.Connection:
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="drover-rows-")))
        file = self._file = sqlite3.connect(folder / "rows", isolation_level=None)
        self._stack.callback(file.close)
        # The file is temporary: nothing has to survive a crash.
        file.execute("PRAGMA journal_mode = OFF")
        file.execute("PRAGMA synchronous = OFF")
        file.execute(f"PRAGMA cache_size = -{FILE_CACHE_KIB}")
        file.execute("CREATE TABLE rows (key BLOB PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID")
        return file
