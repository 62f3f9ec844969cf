"""The PostgreSQL partitions of tables that grow with every event: ranges of positions in the log, the same ranges for
all such tables of a read model. The projector creates the next ones before it needs them.

Not to be confused with the partitions of a context's log. An operator detaches old ranges (`projection.detaching`).
"""

from __future__ import annotations

from typing import Any, Final

import asyncpg
import msgspec

from drover.postgres.pool import Connection
from drover.projection.identifiers import quoted
from drover.projection.projection import Projection, row_id
from drover.readmodel.table import AppendTable

ROWS_PER_PARTITION: Final = 50_000_000
"""About how many rows of events a partition gets."""
EVENTS_PER_COMMIT: Final = 10
"""How many events a commit is assumed to have, until a context's own average is known."""
MEASURED_COMMITS_MIN: Final = 10_000
"""From how many commits on the average is used."""
LOCK_MS: Final = 500
"""How many milliseconds the projector waits for the lock to attach a partition that it does not need yet. Only another
change of the table, or ANALYZE by hand, holds that lock; reads and writes do not."""

_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('drover.table_partitions:' || $1, 0))"
_PARTITIONS: Final = """
SELECT c.relname AS name, substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \\(''?(\\d+)')::int8 AS first,
       substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \\(''?(\\d+)')::int8 AS after
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = to_regclass($1)
  AND pg_get_expr(c.relpartbound, c.oid) IS NOT NULL -- null: another session is dropping it
ORDER BY first
"""
_AVERAGE: Final = """
SELECT sum(n)::float8 / max(seq) FROM drover.checkpoints WHERE context = $1
GROUP BY schema HAVING max(seq) >= $2 ORDER BY max(seq) DESC LIMIT 1
"""
_DETACHED_BEFORE: Final = "SELECT coalesce(max(to_seq), 0) FROM drover.detached_partitions WHERE context = $1"


class TablePartition(msgspec.Struct, frozen=True):
    """A range of commits, and the name of the table with their rows."""

    name: str
    first: int
    after: int
    """The sequences of the first commit in the range (`first`) and of the first commit after it (`after`)."""

    @property
    def middle(self) -> int:
        return (self.first + self.after) // 2


def partitioned(projection: Projection) -> tuple[AppendTable, ...]:
    return tuple(table for table in projection.appended if table.by_position is not None)


def bound(table: AppendTable, seq: int) -> int:
    """Return the lowest value that a row of the commit with this sequence can have in the table's position column."""
    return seq if table.by_position == "seq" else row_id((seq, 0))


def is_detached(table: AppendTable, row: tuple[Any, ...], before: int) -> bool:
    """Whether a row of a partitioned table is of a commit before the sequence `before`."""
    return table.by_position is not None and row[table.position_place] < bound(table, before)


async def partitions_of(connection: Connection, schema: str, table: AppendTable) -> list[TablePartition]:
    """Return the partitions of a table in the order of their ranges."""
    width = bound(table, 1)
    found = await connection.fetch(_PARTITIONS, f"{quoted(schema)}.{quoted(table.name)}")
    return [TablePartition(row["name"], row["first"] // width, row["after"] // width) for row in found]


async def detached_before(connection: Connection, context: str) -> int:
    """Return the sequence of the commit before which all rows of partitioned tables are detached; 0 if nothing is."""
    before: int = await connection.fetchval(_DETACHED_BEFORE, context)
    return before


def partition_name(table: AppendTable, first: int) -> str:
    return f"{table.name}_from_{first}"


async def lock_partitions(connection: Connection, projection: Projection) -> None:
    """Keep other processes from changing the partitions of this read model until the transaction ends."""
    await connection.execute(_LOCK, projection.schema)


async def add_partition(connection: Connection, projection: Projection, first: int, after: int) -> None:
    """Add a partition to each partitioned table. Needs a transaction.

    The partition is created as a table, then attached: `CREATE TABLE … PARTITION OF` would lock out readers and
    writers, attaching does not.
    """
    for table in partitioned(projection):
        schema, name = quoted(projection.schema), partition_name(table, first)
        await connection.execute(
            f"CREATE TABLE {schema}.{quoted(name)} "
            f"(LIKE {schema}.{quoted(table.name)} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)"
        )
        await attach(connection, projection, table, name, first, after)


async def attach(
    connection: Connection, projection: Projection, table: AppendTable, name: str, first: int, after: int
) -> None:
    """Make a table of the same schema the partition with the commits from `first` to before `after`."""
    schema = quoted(projection.schema)
    await connection.execute(
        f"ALTER TABLE {schema}.{quoted(table.name)} ATTACH PARTITION {schema}.{quoted(name)} "
        f"FOR VALUES FROM ({bound(table, first)}) TO ({bound(table, after)})"
    )


class TablePartitions:
    """Makes sure that the tables of a read model have partitions for the rows that are written."""

    def __init__(self, connection: Connection, projection: Projection) -> None:
        self._connection = connection
        self._projection = projection
        self._last = TablePartition("", 0, 0)
        self.before = 0
        """Rows of commits before this sequence are detached, and not written."""

    async def open(self) -> None:
        self.before = await detached_before(self._connection, self._projection.context)
        await self.reach(0)

    async def reach(self, seq: int) -> None:
        """Make sure that rows up to this commit have a partition. The next partition is made when half of the last one
        is used."""
        if not partitioned(self._projection) or seq < self._last.middle:
            return
        is_needed = seq >= self._last.after
        try:
            async with self._connection.transaction():
                if not is_needed:
                    await self._connection.execute(f"SET LOCAL lock_timeout = {LOCK_MS}")
                self._last = await self._extend(seq)
        except asyncpg.LockNotAvailableError:
            if is_needed:
                raise

    async def _extend(self, seq: int) -> TablePartition:
        """Add the partition that is missing. Another process may have done it meanwhile."""
        projection = self._projection
        await lock_partitions(self._connection, projection)
        found = await partitions_of(self._connection, projection.schema, partitioned(projection)[0])
        last = found[-1] if found else TablePartition("", self.before, self.before)
        while seq >= last.middle:
            # If the log jumps ahead, as after a restore without its first commits, one partition covers the whole gap.
            after = max(last.after + await self._commits(), seq + 1)
            await add_partition(self._connection, projection, last.after, after)
            last = TablePartition("", last.after, after)
        return last

    async def _commits(self) -> int:
        """Return how many commits a new partition shall have, so that it gets about ROWS_PER_PARTITION rows."""
        average = await self._connection.fetchval(_AVERAGE, self._projection.context, MEASURED_COMMITS_MIN)
        return max(2, round(ROWS_PER_PARTITION / max(1.0, average or EVENTS_PER_COMMIT)))

    def kept(self, table: AppendTable, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return the rows that are not in a detached range. `rows` are in the order of the log."""
        if not rows or not is_detached(table, rows[0], self.before):
            return rows
        return [row for row in rows if not is_detached(table, row, self.before)]
