"""Fills a schema that nobody reads yet from the log: a new form of a read model, or the shadow of a rebuild. Rows are
written in large batches, and indices are made at the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from drover.eventlog.codec import Codec
from drover.eventlog.log import EventLog, Reader, StoredCommit
from drover.postgres.pool import Connection, connect
from drover.projection.batch import BatchTables
from drover.projection.checkpoint import Checkpoint, read_checkpoint
from drover.projection.feed import Feed
from drover.projection.folder import Folder
from drover.projection.identifiers import quoted
from drover.projection.indices import drop_plain_indices, has_all_indices, make_missing_indices
from drover.projection.projection import Projection
from drover.projection.store import Store
from drover.service.tasks import end as finish

BATCH_EVENTS_MAX: Final = 20_000
"""How many events are written at a time; the next batch is computed meanwhile. Larger batches are hardly faster and
take more memory."""
SETTINGS: Final = {
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    # A crash of the server may lose the last batches, but never a batch's rows without its checkpoint. So the next run
    # continues from a consistent state.
    "synchronous_commit": "off",
}
"""The settings of a connection that builds a schema."""

BULK_COMMITS_MIN: Final = 10_000
"""If at least this many commits are missing, indices are made after the rows. With fewer it saves nothing."""
CLOSE_ENOUGH_S: Final = 1.0
"""The catch-up ends after a pass (from the checkpoint to the end of the log) that took less than this. The projector
then follows the few commits that came meanwhile."""

_LOCK: Final = "SELECT pg_advisory_lock(hashtextextended('drover.indices:' || $1, 0))"
_UNLOCK: Final = "SELECT pg_advisory_unlock(hashtextextended('drover.indices:' || $1, 0))"

Progress = Callable[[Checkpoint], None]
"""Called after each batch, with the position that is reached."""
Built = Callable[[Checkpoint, int], None]
"""Called after each batch, with the position that is reached and the sequence at which this pass ends."""


class _UpTo:
    """A reader of the log that ends at a sequence, so that no later commit is applied."""

    def __init__(self, reader: Reader, end: int) -> None:
        self._reader = reader
        self._end = end
        self.behind = 1

    async def next(self) -> list[StoredCommit]:
        commits = [commit for commit in await self._reader.next() if commit.seq <= self._end]
        self.behind = 0 if commits[-1].seq >= self._end else 1
        return commits


async def fold_up_to(
    connection: Connection, projection: Projection, log: EventLog, end: int, progress: Progress = lambda at: None
) -> None:
    """Apply the commits of a partition up to the sequence `end`, from the checkpoint on."""
    store = Store(connection, projection, log.partition.name)
    await store.open()
    at = await read_checkpoint(connection, projection.schema, log.partition.name, projection.context)
    if at.seq >= end:
        return
    async with log.read(after=at.seq) as reader:
        codec = Codec(projection.events, projection.upcasters)
        feed = Feed(_UpTo(reader, end), codec, log.partition, at, BATCH_EVENTS_MAX)
        folder = Folder(projection, log.partition, feed, store, BatchTables(projection))
        ahead = asyncio.create_task(folder.next())
        try:
            while at.seq < end:
                folded = await ahead
                if folded.new.seq < end:  # fold the next batch while this one is written
                    ahead = asyncio.create_task(folder.next())
                await store.write(folded.changes, folded.old, folded.new)
                at = folded.new
                progress(at)
        finally:
            await finish(ahead)


async def complete(connection: Connection, projection: Projection) -> None:
    """Make the indices that were left for the end, and the planner's statistics. A lock makes the partitions of a
    context do this one after the other."""
    await connection.execute(_LOCK, projection.schema)
    try:
        await make_missing_indices(connection, projection)
        for table in projection.tables:  # or the planner would take the tables for empty
            await connection.execute(f"ANALYZE {quoted(projection.schema)}.{quoted(table.name)}")
    finally:
        await connection.execute(_UNLOCK, projection.schema)


def _tell(built: Built, end: int, at: Checkpoint) -> None:
    built(at, end)


async def end_of(log: EventLog) -> int:
    """Return the sequence of the partition's last commit; 0 if there is none."""
    last = await log.last()
    return 0 if last is None else last.seq


async def build(projection: Projection, log: EventLog, dsn: str, built: Built) -> None:
    """Apply a partition of the log to the projection's schema, from its checkpoint to the end, and make its indices. If
    it is interrupted, the next call continues."""
    async with connect(dsn, f"drover-catch-up {projection.name}", SETTINGS, command_s=None) as connection:
        at = await read_checkpoint(connection, projection.schema, log.partition.name, projection.context)
        end = await end_of(log)
        is_far = end - at.seq >= BULK_COMMITS_MIN
        if is_far and at.seq == 0:
            await drop_plain_indices(connection, projection.schema)
        while True:
            began_s = time.monotonic()
            await fold_up_to(connection, projection, log, end, partial(_tell, built, end))
            if is_far or not await has_all_indices(connection, projection):
                await complete(connection, projection)
            if time.monotonic() - began_s < CLOSE_ENOUGH_S:
                return
            is_far, end = False, await end_of(log)
