"""The rows of a projection in Postgres: loads those that a batch touches, writes what it changed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from drover.postgres.pool import Connection
from drover.projection.batch import BatchTables, Changes
from drover.projection.checkpoint import Checkpoint, move_checkpoint
from drover.projection.errors import CheckpointMoved
from drover.projection.identifiers import quoted
from drover.projection.projection import Projection
from drover.projection.table_partitions import TablePartitions
from drover.readmodel.live import LiveRelation
from drover.readmodel.table import AppendTable, Key, KeyedTable, Table

SMALL_ROWS_MAX: Final = 40
"""Up to this many rows of a table are written by INSERT, all in one round trip. More are written by COPY, which costs
less for each row, but needs at least two round trips for each table."""

Record = tuple[Any, ...]
"""A row as Postgres takes it."""

_STAGING: Final = "staging_"
_SCHEMA: Final = "SELECT to_regnamespace(quote_ident($1))::oid::int8"
"""Reads the oid of a schema: after the swap of a rebuild, the schema has the same name but another oid."""


class KeyedSql:
    """The SQL statements of one keyed table, built once from its declaration. Table and column names come from our own
    code, never from input, so this cannot inject SQL."""

    def __init__(self, schema: str, table: KeyedTable[Any]) -> None:
        name = f"{quoted(schema)}.{quoted(table.name)}"
        self.staging = _STAGING + table.name
        columns = ", ".join(quoted(c) for c in table.columns)
        key = ", ".join(quoted(c) for c in table.key)
        rest = [quoted(c) for c in table.columns if c not in table.key]
        change = "UPDATE SET " + ", ".join(f"{c} = excluded.{c}" for c in rest) if rest else "NOTHING"
        among = _among(table)
        self.stage = f"CREATE TEMP TABLE IF NOT EXISTS {quoted(self.staging)} (LIKE {name}) ON COMMIT DELETE ROWS"
        self.load = f"SELECT {columns} FROM {name} {among}"  # noqa: S608
        self.delete = f"DELETE FROM {name} {among}"  # noqa: S608
        on_conflict = f"ON CONFLICT ({key}) DO {change}"
        # An updated row has the number of this transaction in xmax, a new row has 0.
        is_new = "xmax = 0 AS is_new"
        self.upsert = (
            f"INSERT INTO {name} ({columns}) SELECT {columns} FROM pg_temp.{quoted(self.staging)} "  # noqa: S608
            f"{on_conflict}"
        )
        self.upsert_and_tell = (
            f"WITH written AS ({self.upsert} RETURNING {key}, {is_new}) "  # noqa: S608
            f"SELECT {key} FROM written WHERE is_new"
        )
        self.upsert_one = f"{_insert(schema, table)} {on_conflict}"
        self.upsert_one_and_tell = f"{self.upsert_one} RETURNING {is_new}"


def _insert(schema: str, table: Table) -> str:
    columns = ", ".join(quoted(c) for c in table.columns)
    values = ", ".join(f"${i}" for i in range(1, len(table.columns) + 1))
    return f"INSERT INTO {quoted(schema)}.{quoted(table.name)} ({columns}) VALUES ({values})"  # noqa: S608


def live_select(schema: str, relations: Sequence[LiveRelation]) -> str:
    """Make the statement that selects rows of several relations as `/rest/v1` shows them, by the keys of their tables.
    The first column is the index of the row's relation in `relations`. It is one statement, because a round trip for
    each relation would cost more than the rows."""
    parts, first = [], 1
    for number, live in enumerate(relations):
        items = ", ".join(live.select_items())
        rows = f"SELECT {items} FROM {quoted(schema)}.{quoted(live.name)} {_among(live.table, first)}"  # noqa: S608
        parts.append(f"SELECT {number}, row_to_json(told)::text FROM ({rows}) AS told")  # noqa: S608
        first += len(live.table.key)
    return " UNION ALL ".join(parts)


def _among(table: Table, first: int = 1) -> str:
    """Make the SQL condition that the key is among the given ones. It takes one array per key column. `first`: the
    number of the first of these parameters."""
    key = ", ".join(quoted(c) for c in table.key)
    wanted = ", ".join(f"${i}::{table.types[c]}[]" for i, c in enumerate(table.key, start=first))
    if len(table.key) == 1:
        return f"WHERE {key} = ANY ({wanted})"
    return f"WHERE ({key}) IN (SELECT * FROM unnest({wanted}))"  # noqa: S608


def _key_columns(table: Table, keys: list[Key]) -> list[list[Any]]:
    if len(table.key) == 1:
        return [keys]
    if not keys:
        return [[] for _ in table.key]
    return [list(column) for column in zip(*keys, strict=True)]


def _keys(records: list[Any]) -> list[Key]:
    return [record[0] if len(record) == 1 else tuple(record) for record in records]


class Store:
    """Loads and writes the rows of one partition of a read model, on its own connection."""

    def __init__(self, connection: Connection, projection: Projection, partition: str) -> None:
        self._connection = connection
        self._projection = projection
        self._partition = partition
        self._sql = {t.name: KeyedSql(projection.schema, t) for t in projection.keyed}
        self._appends = {t.name: _insert(projection.schema, t) for t in projection.appended}
        self._partitions = TablePartitions(connection, projection)
        self._live = live_select(projection.schema, projection.live)
        self._told = frozenset(live.table.name for live in projection.live)
        """Names of the tables with live readers. Only for these does `write` find out which rows are new."""
        self._busy = asyncio.Lock()
        """Allows one statement at a time on the connection: rows for the next batch are loaded while this one is
        written."""

    async def open(self) -> None:
        """Create the staging tables. They are temporary tables, so they disappear with the connection."""
        self._schema = await self._connection.fetchval(_SCHEMA, self._projection.schema)
        await self._partitions.open()
        for sql in self._sql.values():
            await self._connection.execute(sql.stage)

    @property
    def detached_before(self) -> int:
        """Rows of commits before this one are not written to partitioned tables."""
        return self._partitions.before

    async def load(self, tables: BatchTables, touched: dict[KeyedTable[Any], set[Key]]) -> None:
        """Load the rows that a batch needs and the cache does not have: one SELECT per table. This needs no
        transaction: if another process changes a row, it also moves the checkpoint, and then `write` fails."""
        for table, keys in touched.items():
            if missing := tables.unknown(table, keys):
                async with self._busy:
                    records = await self._connection.fetch(self._sql[table.name].load, *_key_columns(table, missing))
                tables.loaded(table, missing, list(map(table.from_record, records)))

    async def write(self, changes: Changes, old: Checkpoint, new: Checkpoint) -> None:
        """Write rows and checkpoint, or neither. The checkpoint is moved first: another process that writes waits
        there, and then finds the checkpoint moved."""
        async with self._busy:
            await self._partitions.reach(new.seq)
            await self._write(changes, old, new)

    async def _write(self, changes: Changes, old: Checkpoint, new: Checkpoint) -> None:
        async with self._connection.transaction():
            await move_checkpoint(self._connection, self._projection.schema, self._partition, old, new)
            await self._check_schema(old)
            await self.write_rows(changes)

    async def _check_schema(self, at: Checkpoint) -> None:
        """Raise CheckpointMoved if a rebuild has swapped the schema: cached rows then belong to the old tables. The
        swap of an idle read model may leave the checkpoint unchanged, so checking that is not enough."""
        if await self._connection.fetchval(_SCHEMA, self._projection.schema) != self._schema:
            raise CheckpointMoved(self._projection.schema, self._partition, at.seq)

    async def write_rows(self, changes: Changes) -> None:
        for appended in self._projection.appended:
            if rows := self._partitions.kept(appended, changes.appends[appended.name]):
                await self._append(appended, rows)
        for table in self._projection.keyed:
            if deletes := changes.deletes[table.name]:  # first, so that a unique value can move to another row
                await self._connection.execute(self._sql[table.name].delete, *_key_columns(table, deletes))
            if upserts := changes.upserts[table.name]:
                write = self._upsert_one_by_one if len(upserts) <= SMALL_ROWS_MAX else self._upsert_staged
                created = await write(table, upserts)
                if table.name in self._told:
                    changes.created[table.name] = created

    async def _append(self, table: AppendTable, rows: list[Record]) -> None:
        if len(rows) <= SMALL_ROWS_MAX:
            await self._connection.executemany(self._appends[table.name], rows)
        else:
            await self._connection.copy_records_to_table(
                table.name, schema_name=self._projection.schema, columns=table.columns, records=rows
            )

    async def _upsert_one_by_one(self, table: KeyedTable[Any], rows: list[Record]) -> list[Key]:
        """Write the rows, and return the keys of those that did not exist before; of a table without live readers,
        return none."""
        sql = self._sql[table.name]
        if table.name not in self._told:
            await self._connection.executemany(sql.upsert_one, rows)
            return []
        written = await self._connection.fetchmany(sql.upsert_one_and_tell, rows)
        key_of = table.record_key_of
        return [key_of(row) for row, (is_new,) in zip(rows, written, strict=True) if is_new]

    async def _upsert_staged(self, table: KeyedTable[Any], rows: list[Record]) -> list[Key]:
        """Do the same as `_upsert_one_by_one`, but faster for many rows."""
        sql = self._sql[table.name]
        await self._connection.copy_records_to_table(sql.staging, columns=table.columns, records=rows)
        if table.name not in self._told:
            await self._connection.execute(sql.upsert)
            return []
        return _keys(await self._connection.fetch(sql.upsert_and_tell))

    async def select(self, wanted: Mapping[LiveRelation, list[Key]]) -> dict[LiveRelation, list[str]]:
        """Select the current rows of relations as JSON, to publish them."""
        relations = self._projection.live
        keys = [column for live in relations for column in _key_columns(live.table, wanted.get(live, []))]
        found: dict[LiveRelation, list[str]] = {live: [] for live in wanted}
        async with self._busy:
            for number, row in await self._connection.fetch(self._live, *keys):
                found[relations[number]].append(row)
        return found

    async def ping(self, at: Checkpoint) -> None:
        """Keep the session alive, and check that it still exists and that its tables are the live ones."""
        async with self._busy:
            await self._check_schema(at)
