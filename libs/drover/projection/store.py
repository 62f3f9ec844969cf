"""The rows of a projection in Postgres: loading those that a batch touches, writing what it changed."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from drover.postgres.pool import Connection
from drover.projection.batch import BatchTables, Changes
from drover.projection.checkpoint import Checkpoint, move_checkpoint
from drover.projection.errors import CheckpointMoved
from drover.projection.projection import Projection
from drover.projection.read_model import quoted
from drover.readmodel.live import LiveRelation
from drover.readmodel.table import Key, KeyedTable, Table

_STAGING: Final = "staging_"
_SCHEMA: Final = "SELECT to_regnamespace(quote_ident($1))::oid::int8"
"""A schema by its number: one that a rebuild has put in its place has the same name and another number."""


class KeyedSql:
    """The statements of one keyed table, built once from its description (from names of ours, never from input)."""

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
        self.upsert = (
            f"INSERT INTO {name} ({columns}) SELECT {columns} FROM pg_temp.{quoted(self.staging)} "  # noqa: S608
            f"ON CONFLICT ({key}) DO {change}"
        )


def live_select(schema: str, live: LiveRelation) -> str:
    """Rows of a relation as `/rest/v1` shows them, by the keys of its table."""
    items = ", ".join(live.select_items())
    rows = f"SELECT {items} FROM {quoted(schema)}.{quoted(live.name)} {_among(live.table)}"  # noqa: S608
    return f"SELECT row_to_json(told)::text FROM ({rows}) AS told"  # noqa: S608


def _among(table: Table) -> str:
    """A condition: the key is one of those given, column by column."""
    key = ", ".join(quoted(c) for c in table.key)
    wanted = ", ".join(f"${i}::{table.types[c]}[]" for i, c in enumerate(table.key, start=1))
    if len(table.key) == 1:
        return f"WHERE {key} = ANY ({wanted})"
    return f"WHERE ({key}) IN (SELECT * FROM unnest({wanted}))"  # noqa: S608


def _key_columns(table: Table, keys: list[Key]) -> list[list[Any]]:
    if len(table.key) == 1:
        return [keys]
    return [list(column) for column in zip(*keys, strict=True)]


class Store:
    """One partition's share of a read model, over one connection of its own."""

    def __init__(self, connection: Connection, projection: Projection, partition: str) -> None:
        self._connection = connection
        self._projection = projection
        self._partition = partition
        self._sql = {t.name: KeyedSql(projection.schema, t) for t in projection.keyed}
        self._live = {live.name: live_select(projection.schema, live) for live in projection.live}
        self._busy = asyncio.Lock()
        """Rows for the next batch are loaded while this one is written: one statement at a time."""

    async def open(self) -> None:
        """Make the staging tables; they go with the connection."""
        self._schema = await self._connection.fetchval(_SCHEMA, self._projection.schema)
        for sql in self._sql.values():
            await self._connection.execute(sql.stage)

    async def load(self, tables: BatchTables, touched: dict[KeyedTable[Any], set[Key]]) -> None:
        """Bring in the rows that a batch touches and the cache does not have: one SELECT for each table.

        No transaction is needed: whoever moved a row since the checkpoint was read has moved the checkpoint too.
        """
        for table, keys in touched.items():
            if missing := tables.unknown(table, keys):
                async with self._busy:
                    records = await self._connection.fetch(self._sql[table.name].load, *_key_columns(table, missing))
                tables.loaded(table, missing, list(map(table.from_record, records)))

    async def write(self, changes: Changes, old: Checkpoint, new: Checkpoint) -> None:
        """Rows and checkpoint, or neither. The checkpoint first: a competitor waits there and then finds it moved."""
        async with self._busy, self._connection.transaction():
            await move_checkpoint(self._connection, self._projection.schema, self._partition, old, new)
            await self._check_schema(old)
            await self.write_rows(changes)

    async def _check_schema(self, at: Checkpoint) -> None:
        """After a swap at rest the checkpoint is where it was, but cached rows and live readers are of other tables."""
        if await self._connection.fetchval(_SCHEMA, self._projection.schema) != self._schema:
            raise CheckpointMoved(self._projection.schema, self._partition, at.seq)

    async def write_rows(self, changes: Changes) -> None:
        schema = self._projection.schema
        for appended in self._projection.appended:
            if rows := changes.appends[appended.name]:
                await self._connection.copy_records_to_table(
                    appended.name, schema_name=schema, columns=appended.columns, records=rows
                )
        for table in self._projection.keyed:
            sql = self._sql[table.name]
            if deletes := changes.deletes[table.name]:  # first, so that what is unique may pass on to another row
                await self._connection.execute(sql.delete, *_key_columns(table, deletes))
            if upserts := changes.upserts[table.name]:
                await self._connection.copy_records_to_table(sql.staging, columns=table.columns, records=upserts)
                await self._connection.execute(sql.upsert)

    async def select(self, live: LiveRelation, keys: list[Key]) -> list[str]:
        """Rows of a relation as JSON, as they are now; for those who are told of changes."""
        async with self._busy:
            records = await self._connection.fetch(self._live[live.name], *_key_columns(live.table, keys))
        return [record[0] for record in records]

    async def ping(self, at: Checkpoint) -> None:
        """Keeps the session, and finds out whether there still is one, and whether its tables are those that serve."""
        async with self._busy:
            await self._check_schema(at)
