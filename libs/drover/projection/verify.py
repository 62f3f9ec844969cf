"""Computes all tables again from the log and compares them with the database, row by row, at one position.
Read-only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import closing
from typing import Any, Final

import msgspec

from drover.eventlog.codec import Codec
from drover.eventlog.log import EventLog
from drover.postgres.pool import Connection, connect
from drover.projection.checkpoint import refuse_other_logs
from drover.projection.difference import Comparison, Table, TableReport
from drover.projection.errors import ReadModelMissing
from drover.projection.identifiers import quoted
from drover.projection.merged_commits import merged_commits
from drover.projection.projection import Projection, raw_lines
from drover.projection.read_model import added_columns
from drover.projection.spill import ROWS_MAX, Spill
from drover.projection.table_partitions import detached_before, is_detached
from drover.readmodel.table import AppendTable, Key, KeyedTable, R

ROWS_AT_ONCE: Final = 2_000
COMMITS_PER_TURN: Final = 20
STATEMENT_TIMEOUT_MS: Final = "0"
"""No statement time-out, because a cursor stays open until the whole log is read."""

_CHECKPOINTS: Final = "SELECT partition, seq, n FROM drover.checkpoints WHERE schema = $1"

Progress = Callable[[int, int], None]
"""Called with (events applied, events in total)."""


class Report(msgspec.Struct):
    """The result of comparing one projection."""

    projection: str
    positions: dict[str, int]
    """By partition, the commit up to which log and tables were compared."""
    events: int
    tables: list[TableReport]
    detached_before: int = 0
    """Rows of commits before this one are detached from tables of events, and were not compared. 0: none are."""


class _Rows:
    """The rows of an append table in the database, in key order."""

    def __init__(self, rows: AsyncIterator[tuple[Any, ...]], table: AppendTable, added: Collection[str]) -> None:
        self._rows = rows
        self._table = table
        self._comparison = Comparison(table, added)
        self._next: tuple[Any, ...] | None = None
        self._over = False

    @property
    def report(self) -> TableReport:
        return self._comparison.report

    async def meet(self, wanted: tuple[Any, ...]) -> None:
        """Compare the next row that follows from the log. Rows of the table with lower keys are extra; if the table has
        no row with this key, the row is missing."""
        key, there = self._table.record_key_of(wanted), None
        while (found := await self._peek()) is not None and (there := self._table.record_key_of(found)) < key:  # type: ignore[operator]
            self._comparison.compare(there, None, found)
            self._next = None
        if found is not None and there == key:
            self._comparison.compare(key, wanted, found)
            self._next = None
        else:
            self._comparison.compare(key, wanted, None)

    async def finish(self) -> None:
        while (found := await self._peek()) is not None:
            self._comparison.compare(self._table.record_key_of(found), None, found)
            self._next = None

    async def _peek(self) -> tuple[Any, ...] | None:
        if self._next is None and not self._over:
            self._next = await anext(self._rows, None)
            self._over = self._next is None
        return self._next


class _Fold:
    """Tables for the comparison: keyed rows are kept, a bounded number in memory; appended rows are passed on to be
    compared, and forgotten."""

    def __init__(self, projection: Projection, rows_max: int) -> None:
        self.keyed: dict[str, Spill[Any]] = {table.name: Spill(table, rows_max) for table in projection.keyed}
        self.appended: list[tuple[str, tuple[Any, ...]]] = []
        self._projection = projection
        self._codec = Codec(projection.events, projection.upcasters)

    def get(self, table: KeyedTable[R], key: Key) -> R | None:
        return self.keyed[table.name].get(key)

    def put(self, table: KeyedTable[R], row: R) -> None:
        self.keyed[table.name].put(table.key_of(row), row)

    def delete(self, table: KeyedTable[R], key: Key) -> None:
        self.keyed[table.name].pop(key)

    def append(self, table: AppendTable, row: tuple[Any, ...]) -> None:
        self.appended.append((table.name, row))

    def close(self) -> None:
        for spill in self.keyed.values():
            spill.close()

    def take(self, seq: int, payload: bytes) -> int:
        events = self._codec.decode(payload)
        for line, (event, raw) in enumerate(zip(events, raw_lines(payload), strict=True)):
            self._projection.fold(self, event, raw, (seq, line))
        return len(events)


async def verify(
    projection: Projection,
    logs: Sequence[EventLog],
    dsn: str,
    progress: Progress = lambda done, of: None,
    rows_max: int = ROWS_MAX,
) -> Report:
    """Verify one projection. `logs`: one for each partition of the context. `rows_max`: how many rows per table are in
    memory; the others are in a temporary file. Raises ReadModelMissing, or OfAnotherHistory."""
    settings = {"statement_timeout": STATEMENT_TIMEOUT_MS, "idle_in_transaction_session_timeout": "0"}
    async with (
        connect(dsn, f"drover-verify {projection.name}", settings, command_s=None) as connection,
        # One snapshot for positions and rows, while the projector goes on.
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        with closing(_Fold(projection, rows_max)) as fold:
            return await _verify(projection, logs, connection, progress, fold)


async def _verify(
    projection: Projection, logs: Sequence[EventLog], connection: Connection, progress: Progress, fold: _Fold
) -> Report:
    stands = {
        row["partition"]: (row["seq"], row["n"]) for row in await connection.fetch(_CHECKPOINTS, projection.schema)
    }
    if not stands:
        raise ReadModelMissing(projection.schema)
    await refuse_other_logs(connection, projection.schema, logs)
    of = sum(n for _, n in stands.values())
    added = await added_columns(connection, projection.schema)
    appended = {
        table.name: _Rows(rows_of(connection, projection.schema, table), table, added) for table in projection.appended
    }
    tables = {table.name: table for table in projection.appended}
    before = await detached_before(connection, projection.context)
    done = 0
    ends = {name: seq for name, (seq, _) in stands.items()}
    turn = 0
    async for _, commit in merged_commits(logs, ends):
        done += fold.take(commit.seq, commit.payload)
        for name, row in fold.appended:
            if not is_detached(tables[name], row, before):
                await appended[name].meet(row)
        fold.appended.clear()
        turn += 1
        if turn % COMMITS_PER_TURN == 0:
            progress(done, of)
            await asyncio.sleep(0)
    for rows in appended.values():
        await rows.finish()
    keyed = [
        await _compare_keyed(connection, projection.schema, table, fold.keyed[table.name], added)
        for table in projection.keyed
    ]
    progress(done, of)
    return Report(projection.name, ends, done, [*keyed, *(rows.report for rows in appended.values())], before)


async def _compare_keyed(
    connection: Connection, schema: str, table: KeyedTable[Any], wanted: Spill[Any], added: Collection[str]
) -> TableReport:
    comparison = Comparison(table, added)
    async for found in rows_of(connection, schema, table):
        key = table.record_key_of(found)
        row = wanted.pop(key)
        comparison.compare(key, None if row is None else table.to_record(row), found)
    for row in wanted.rest():
        comparison.compare(table.key_of(row), table.to_record(row), None)
    return comparison.report


async def rows_of(connection: Connection, schema: str, table: Table) -> AsyncIterator[tuple[Any, ...]]:
    """Yield all rows in key order, fetched in pages. Needs a transaction."""
    columns = ", ".join(map(quoted, table.columns))
    # Order texts by code point, as Python does; the database's own collation may differ.
    order = ", ".join(quoted(c) + (' COLLATE "C"' if table.types[c] == "text" else "") for c in table.key)
    statement = f"SELECT {columns} FROM {quoted(schema)}.{quoted(table.name)} ORDER BY {order}"  # noqa: S608
    async for record in connection.cursor(statement, prefetch=ROWS_AT_ONCE):
        yield tuple(record)
