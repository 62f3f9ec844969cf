"""A read model folded anew beside the one that serves, compared with it, and put in its place in one step.

The shadow has a schema and checkpoints of its own: whoever is interrupted goes on where they were. No reactor is in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Final

import msgspec

from drover.eventlog.codec import Codec
from drover.eventlog.log import EventLog, Reader, StoredCommit
from drover.postgres.pool import Connection, connect
from drover.projection.batch import BatchTables
from drover.projection.checkpoint import Checkpoint, forget_checkpoints, read_checkpoint
from drover.projection.difference import Comparison, Table, TableReport, key_of
from drover.projection.errors import ReadModelMissing, RebuildBusy
from drover.projection.feed import Feed
from drover.projection.folder import Folder
from drover.projection.projection import Projection
from drover.projection.read_model import ensure_read_model, quoted
from drover.projection.store import Store
from drover.projection.verify import rows_of

READS_END_S: Final = 10.0
"""Reads that began before the swap still use the old tables: these are dropped when no read can be that old."""
SETTINGS: Final = {"statement_timeout": "0", "idle_in_transaction_session_timeout": "0"}

_LOCK: Final = "SELECT pg_try_advisory_lock(hashtextextended('drover.rebuild:' || $1, 0))"
_STANDS: Final = "SELECT partition, seq FROM drover.checkpoints WHERE schema = $1 ORDER BY partition"
_HOLD: Final = "SELECT partition, seq FROM drover.checkpoints WHERE schema = $1 ORDER BY partition FOR UPDATE"
_EVENTS: Final = "SELECT coalesce(sum(n), 0) FROM drover.checkpoints WHERE schema = $1"
_TAKE_CHECKPOINTS: Final = "UPDATE drover.checkpoints SET schema = $2 WHERE schema = $1"
_TAKE_FORM: Final = "UPDATE drover.read_models SET schema = $2 WHERE schema = $1"
_FORGET_FORM: Final = "DELETE FROM drover.read_models WHERE schema = $1"

Progress = Callable[[int, int], None]
"""(events folded, events in all)."""


def shadow_of(projection: Projection) -> Projection:
    return replace(projection, schema=f"{projection.schema}__shadow")


class _UpTo:
    """A reader that ends at a sequence: nothing beyond it is folded."""

    def __init__(self, reader: Reader, end: int) -> None:
        self._reader = reader
        self._end = end
        self.behind = 1

    async def next(self) -> list[StoredCommit]:
        commits = [commit for commit in await self._reader.next() if commit.seq <= self._end]
        self.behind = 0 if commits[-1].seq >= self._end else 1
        return commits


class Rebuild:
    """One rebuild, from the first commit to the swap. Hold it open while it works: it keeps others from the same."""

    def __init__(self, projection: Projection, logs: Sequence[EventLog], dsn: str) -> None:
        self.projection = projection
        self.shadow = shadow_of(projection)
        self._logs = {log.partition.name: log for log in logs}
        self._dsn = dsn
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Rebuild:
        name = f"drover-rebuild {self.projection.name}"
        self._connection: Connection = await self._stack.enter_async_context(connect(self._dsn, name, SETTINGS))
        if not await self._connection.fetchval(_LOCK, self.projection.schema):
            await self._stack.aclose()
            raise RebuildBusy(self.projection.name)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def fold(self, progress: Progress = lambda done, of: None) -> dict[str, int]:
        """The shadow up to where the live one stands now; its positions. What was folded before is not folded again."""
        await ensure_read_model(self._connection, self.shadow)
        ends = await self._live()
        of = await self._connection.fetchval(_EVENTS, self.projection.schema)
        for name, end in ends.items():
            await self._catch_up(name, end, lambda done: progress(done, of))
        return ends

    async def _live(self) -> dict[str, int]:
        stands = {row["partition"]: row["seq"] for row in await self._connection.fetch(_STANDS, self.projection.schema)}
        if not stands:
            raise ReadModelMissing(self.projection.schema)
        return stands

    async def _catch_up(self, partition: str, end: int, progress: Callable[[int], None] = lambda done: None) -> None:
        log, shadow = self._logs[partition], self.shadow
        store = Store(self._connection, shadow, partition)
        await store.open()
        stands = await read_checkpoint(self._connection, shadow.schema, partition, shadow.context)
        if stands.seq >= end:
            return
        async with log.read(after=stands.seq) as reader:
            codec = Codec(shadow.events, shadow.upcasters)
            feed = Feed(_UpTo(reader, end), codec, log.partition, stands)
            folder = Folder(shadow, log.partition, feed, store, BatchTables(shadow))
            at: Checkpoint = stands
            while at.seq < end:
                folded = await folder.next()
                await store.write(folded.changes, folded.old, folded.new)
                at = folded.new
                progress(at.n)

    async def diff(self) -> tuple[dict[str, int], list[TableReport]]:
        """Row by row, with both at the same positions. The live one goes on meanwhile: it is looked at as it was."""
        async with (
            connect(self._dsn, f"drover-diff {self.projection.name}", SETTINGS) as live,
            live.transaction(isolation="repeatable_read", readonly=True),
        ):
            ends = {row["partition"]: row["seq"] for row in await live.fetch(_STANDS, self.projection.schema)}
            for name, end in ends.items():
                await self._catch_up(name, end)
            async with self._connection.transaction(readonly=True):
                return ends, [await self._compare(live, table) for table in self.projection.tables]

    async def _compare(self, live: Connection, table: Table) -> TableReport:
        comparison = Comparison(table)
        rows = rows_of(self._connection, self.shadow.schema, table)
        standing = rows_of(live, self.projection.schema, table)
        wanted, found = await anext(rows, None), await anext(standing, None)
        compared = 0
        while wanted is not None or found is not None:
            left = None if wanted is None else key_of(table, wanted)
            right = None if found is None else key_of(table, found)
            if right is None or (left is not None and left < right):  # type: ignore[operator]
                comparison.compare(left, wanted, None)
                wanted = await anext(rows, None)
            elif left is None or right < left:  # type: ignore[operator]
                comparison.compare(right, None, found)
                found = await anext(standing, None)
            else:
                comparison.compare(left, wanted, found)
                wanted, found = await anext(rows, None), await anext(standing, None)
            compared += 1
            if compared % 1_000 == 0:
                await asyncio.sleep(0)
        return comparison.report

    async def swap(self) -> dict[str, int]:
        """The shadow serves from here on; its positions. The projector finds its checkpoint moved, and goes on."""
        live, shadow, old = self.projection.schema, self.shadow.schema, f"{self.projection.schema}__old"
        await self._connection.execute(f"DROP SCHEMA IF EXISTS {quoted(old)} CASCADE")
        ends = await self._live()  # most of the way before anybody has to wait
        for name, end in ends.items():
            await self._catch_up(name, end)
        async with (
            connect(self._dsn, f"drover-swap {self.projection.name}", SETTINGS) as holder,
            holder.transaction(),
        ):
            # Whoever projects waits here, and then finds that the row is not theirs any more.
            held = {row["partition"]: row["seq"] for row in await holder.fetch(_HOLD, live)}
            for name, end in held.items():
                await self._catch_up(name, end)
            # Renaming takes no lock on any table: reads that have begun end on the old ones.
            await forget_checkpoints(holder, live)
            await holder.execute(_FORGET_FORM, live)
            await holder.execute(f"ALTER SCHEMA {quoted(live)} RENAME TO {quoted(old)}")
            await holder.execute(f"ALTER SCHEMA {quoted(shadow)} RENAME TO {quoted(live)}")
            await holder.execute(_TAKE_CHECKPOINTS, shadow, live)
            await holder.execute(_TAKE_FORM, shadow, live)
        await asyncio.sleep(READS_END_S)
        await self._connection.execute(f"DROP SCHEMA {quoted(old)} CASCADE")
        return held

    async def drop(self) -> None:
        """Leave no shadow behind."""
        async with self._connection.transaction():
            await self._connection.execute(f"DROP SCHEMA IF EXISTS {quoted(self.shadow.schema)} CASCADE")
            await forget_checkpoints(self._connection, self.shadow.schema)
            await self._connection.execute(_FORGET_FORM, self.shadow.schema)


class Outcome(msgspec.Struct):
    """What a rebuild did."""

    projection: str
    positions: Mapping[str, int]
    tables: list[TableReport]
    swapped: bool
