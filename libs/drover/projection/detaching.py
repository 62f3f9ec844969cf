"""Detaches the oldest partitions of a read model's tables of events, and attaches them again.

Detached tables are moved to the schema `drover_detached`, where no rebuild or upgrade touches them. The operator dumps
and drops them. The range is recorded, so that a rebuild does not fold it again, and `verify` does not miss its rows.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final

import asyncpg
import msgspec

from drover.postgres.pool import Connection
from drover.projection.errors import DetachedTableMissing, DetachedTableOutdated, ReadModelMissing, TablesRead
from drover.projection.identifiers import quoted
from drover.projection.projection import Projection
from drover.projection.table_partitions import (
    TablePartition,
    attach,
    detached_before,
    lock_partitions,
    partition_name,
    partitioned,
    partitions_of,
)
from drover.readmodel.events import EVENTS
from drover.readmodel.table import AppendTable

SCHEMA: Final = "drover_detached"
LOCK_MS: Final = 500
"""How many milliseconds one try may wait for its lock. Readers that come meanwhile wait behind it."""
AGAIN_S: Final = 0.5
"""The pause between two tries, in seconds."""
GIVE_UP_S: Final = 60.0
"""After this many seconds there is no further try."""

_REACHED: Final = "SELECT min(seq) FROM drover.checkpoints WHERE schema = $1"
_RECORD: Final = """
INSERT INTO drover.detached_partitions (context, "table", from_seq, to_seq, name, until)
VALUES ($1, $2, $3, $4, $5, $6)
"""
_RECORDED: Final = """
SELECT context, "table", from_seq AS first, to_seq AS after, name, until, detached_at,
       to_regclass(quote_ident('drover_detached') || '.' || quote_ident(name)) IS NOT NULL AS is_there
FROM drover.detached_partitions WHERE $1::text IS NULL OR context = $1
ORDER BY context, from_seq, "table"
"""
_FORGET: Final = 'DELETE FROM drover.detached_partitions WHERE context = $1 AND "table" = $2 AND from_seq = $3'


class Detached(msgspec.Struct, frozen=True):
    """A detached partition, as it is recorded."""

    context: str
    table: str
    first: int
    after: int
    """The sequences of the first commit in the range (`first`) and of the first commit after it (`after`)."""
    name: str
    """The name of the table in `drover_detached`."""
    until: datetime | None
    """The time of the last event in the range."""
    detached_at: datetime
    is_there: bool
    """Whether the table still exists. The operator may have dumped and dropped it."""


async def detached(connection: Connection, context: str | None = None) -> list[Detached]:
    """Return what is detached, of one context or of all, the oldest first."""
    return [Detached(**row) for row in await connection.fetch(_RECORDED, context)]


async def detach_before(connection: Connection, projection: Projection, before: int | datetime) -> list[Detached]:
    """Detach the partitions whose rows are all before a commit (its sequence), or all before a time. Return what was
    detached; empty if no partition is that old. Raises ReadModelMissing and TablesRead."""
    reached = await connection.fetchval(_REACHED, projection.schema)
    if reached is None:
        raise ReadModelMissing(projection.schema)

    async def once() -> list[Detached]:
        await lock_partitions(connection, projection)
        for partition in await partitions_of(connection, projection.schema, EVENTS):
            until = await _until(connection, projection, partition)
            # The projector writes to the partition of its position; those before it are complete.
            if partition.after > reached or not _is_before(partition, until, before):
                break
            for table in partitioned(projection):
                one = (await partitions_of(connection, projection.schema, table))[0]
                await _detach(connection, projection, table, one, until)
        return await detached(connection, projection.context)

    known = await detached_before(connection, projection.context)
    found = await _unread(connection, projection, once)
    return [one for one in found if one.first >= known]


def _is_before(partition: TablePartition, until: datetime | None, before: int | datetime) -> bool:
    """Whether all rows of a partition are before a commit (its sequence) or a time. `until`: the time of the last event
    in the partition. None: it has no events, so it is before any time."""
    if isinstance(before, int):
        return partition.after <= before
    return until is None or until < before


async def _until(connection: Connection, projection: Projection, partition: TablePartition) -> datetime | None:
    name = f"{quoted(projection.schema)}.{quoted(partition.name)}"
    until: datetime | None = await connection.fetchval(f"SELECT max(at) FROM {name}")  # noqa: S608
    return until


async def _detach(
    connection: Connection, projection: Projection, table: AppendTable, one: TablePartition, until: datetime | None
) -> None:
    schema = quoted(projection.schema)
    aside = f"{projection.context}_{table.name}_{one.first}_{one.after}"
    await connection.execute(f"ALTER TABLE {schema}.{quoted(table.name)} DETACH PARTITION {schema}.{quoted(one.name)}")
    await connection.execute(f"ALTER TABLE {schema}.{quoted(one.name)} RENAME TO {quoted(aside)}")
    await connection.execute(f"ALTER TABLE {schema}.{quoted(aside)} SET SCHEMA {SCHEMA}")
    await connection.execute(_RECORD, projection.context, table.name, one.first, one.after, aside, until)


async def attach_again(connection: Connection, projection: Projection) -> list[Detached]:
    """Attach what is detached, the newest range first, up to the first range whose tables were dropped. Return what was
    attached. Raises DetachedTableMissing if a table of the newest range is missing."""

    async def once() -> list[Detached]:
        await lock_partitions(connection, projection)
        found = await detached(connection, projection.context)
        missing = [one for one in found if not one.is_there]
        # Attach nothing that is older than a missing range: the tables must have all rows from one position on, without
        # a hole.
        whole = [one for one in found if not missing or one.first >= missing[-1].after]
        if missing and not whole:
            newest = [one.name for one in missing if one.after == found[-1].after]
            raise DetachedTableMissing(projection.context, newest)
        tables = {table.name: table for table in partitioned(projection)}
        for one in whole:
            await _attach(connection, projection, tables[one.table], one)
        return whole

    return await _unread(connection, projection, once)


async def _attach(connection: Connection, projection: Projection, table: AppendTable, one: Detached) -> None:
    schema, name = quoted(projection.schema), partition_name(table, one.first)
    await connection.execute(f"ALTER TABLE {SCHEMA}.{quoted(one.name)} SET SCHEMA {schema}")
    await connection.execute(f"ALTER TABLE {schema}.{quoted(one.name)} RENAME TO {quoted(name)}")
    try:
        await attach(connection, projection, table, name, one.first, one.after)
    except asyncpg.DatatypeMismatchError as error:
        raise DetachedTableOutdated(one.name, str(error)) from error
    await connection.execute(_FORGET, one.context, one.table, one.first)


async def forget_detached(connection: Connection, projection: Projection) -> list[Detached]:
    """Forget the ranges whose tables do not exist any more, so that the next rebuild folds them again. Return them."""
    async with connection.transaction():
        await lock_partitions(connection, projection)
        gone = [one for one in await detached(connection, projection.context) if not one.is_there]
        for one in gone:
            await connection.execute(_FORGET, one.context, one.table, one.first)
        return gone


async def _unread(
    connection: Connection, projection: Projection, once: Callable[[], Awaitable[list[Detached]]]
) -> list[Detached]:
    """Run `once`, which changes the tables, in a transaction. It needs a moment in which nobody reads them. So it is
    tried again and again, and each try waits for LOCK_MS at most. Raises TablesRead after GIVE_UP_S."""
    give_up_at = time.monotonic() + GIVE_UP_S
    while True:
        try:
            async with connection.transaction():
                await connection.execute(f"SET LOCAL lock_timeout = {LOCK_MS}")
                return await once()
        except asyncpg.LockNotAvailableError as error:
            if time.monotonic() > give_up_at:
                raise TablesRead(projection.schema) from error
        await asyncio.sleep(AGAIN_S)
