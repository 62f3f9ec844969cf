"""A read model folded anew beside the one that serves, compared with it, and put in its place in one step.

The shadow has a schema and checkpoints of its own: whoever is interrupted goes on where they were. No reactor is in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Final

import msgspec

from drover.eventlog.codec import Codec
from drover.eventlog.log import EventLog, Reader, StoredCommit
from drover.postgres.pool import Connection, connect
from drover.projection.batch import BatchTables
from drover.projection.beside import compare_schemas
from drover.projection.checkpoint import Checkpoint, forget_checkpoints, read_checkpoint
from drover.projection.difference import TableReport
from drover.projection.errors import OldReadModelRead, ReadModelMissing, ReadModelNewer, RebuildBusy
from drover.projection.feed import Feed
from drover.projection.folder import Folder
from drover.projection.indices import drop_plain_indices, make_missing_indices
from drover.projection.projection import Projection
from drover.projection.read_model import ensure_read_model, quoted
from drover.projection.store import Store
from drover.projection.unread import drop_when_unread
from drover.service.tasks import end as finish

BATCH_EVENTS_MAX: Final = 20_000
"""Written at once, while as many are folded: larger ones are hardly faster, and hold more memory beside a platform."""
SETTINGS: Final = {"statement_timeout": "0", "idle_in_transaction_session_timeout": "0"}

_LOCK: Final = "SELECT pg_try_advisory_lock(hashtextextended('drover.rebuild:' || $1, 0))"
_STANDS: Final = "SELECT partition, seq, n FROM drover.checkpoints WHERE schema = $1 ORDER BY partition"
_HOLD: Final = "SELECT partition, seq FROM drover.checkpoints WHERE schema = $1 ORDER BY partition FOR UPDATE"
_EVENTS: Final = "SELECT coalesce(sum(n), 0)::bigint FROM drover.checkpoints WHERE schema = $1"
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
        self.resumed_at = 0
        """Events that an interrupted one had folded already. 0: it began anew. Known once `fold` has begun."""
        self.events = 0
        """That are to be folded in all."""
        self._old = f"{projection.schema}__old"
        self._logs = {log.partition.name: log for log in logs}
        self._dsn = dsn
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Rebuild:
        # Rows and checkpoint are lost together, or not at all: whoever goes on finds both as they were. The swap waits
        # for the disk, and with it everything before.
        settings = SETTINGS | {"synchronous_commit": "off"}
        self._connection: Connection = await self._stack.enter_async_context(self._connect("rebuild", settings))
        if not await self._connection.fetchval(_LOCK, self.projection.schema):
            await self._stack.aclose()
            raise RebuildBusy(self.projection.name)
        if not await drop_when_unread(self._connection, self._old):  # of one that was killed
            await self._stack.aclose()
            raise OldReadModelRead(self._old)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def _connect(self, what: str, settings: dict[str, str] = SETTINGS) -> AbstractAsyncContextManager[Connection]:
        """For statements that may take as long as they need."""
        return connect(self._dsn, f"drover-{what} {self.projection.name}", settings, command_s=None)

    async def fold(
        self, progress: Progress = lambda done, of: None, say: Callable[[str], None] = lambda stage: None
    ) -> dict[str, int]:
        """The shadow up to where the live one stands now; its positions. What was folded before is not folded again."""
        ends = await self._live()
        await self._begin_or_go_on(ends)
        self.events = of = await self._connection.fetchval(_EVENTS, self.projection.schema)
        done = await self._stands()

        def tell(partition: str, n: int) -> None:
            done[partition] = n
            progress(sum(done.values()), of)

        for name, end in ends.items():
            await self._catch_up(name, end, partial(tell, name))
        say("making indices")
        await make_missing_indices(self._connection, self.shadow)
        for table in self.shadow.tables:  # or the first reads would be planned for empty tables
            await self._connection.execute(f"ANALYZE {quoted(self.shadow.schema)}.{quoted(table.name)}")
        return ends

    async def _begin_or_go_on(self, ends: Mapping[str, int]) -> None:
        """What an interrupted one left is gone on with, unless it is of another form, or of another log."""
        stands = {row["partition"]: row["seq"] for row in await self._connection.fetch(_STANDS, self.shadow.schema)}
        if any(seq > ends.get(name, 0) for name, seq in stands.items()):
            await self.drop()
        try:
            is_new = await ensure_read_model(self._connection, self.shadow)
        except ReadModelNewer:
            await self.drop()
            is_new = await ensure_read_model(self._connection, self.shadow)
        if is_new:
            await drop_plain_indices(self._connection, self.shadow.schema)
        self.resumed_at = sum((await self._stands()).values())

    async def _stands(self) -> dict[str, int]:
        """Events that the shadow has, by partition."""
        return {row["partition"]: row["n"] for row in await self._connection.fetch(_STANDS, self.shadow.schema)}

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
            feed = Feed(_UpTo(reader, end), codec, log.partition, stands, BATCH_EVENTS_MAX)
            folder = Folder(shadow, log.partition, feed, store, BatchTables(shadow))
            ahead = asyncio.create_task(folder.next())
            try:
                at: Checkpoint = stands
                while at.seq < end:
                    folded = await ahead
                    if folded.new.seq < end:  # the next is folded while this one is written
                        ahead = asyncio.create_task(folder.next())
                    await store.write(folded.changes, folded.old, folded.new)
                    at = folded.new
                    progress(at.n)
            finally:
                await finish(ahead)

    async def diff(self) -> tuple[dict[str, int], list[TableReport]]:
        """Row by row, with both at the same positions. The live one goes on meanwhile: it is looked at as it was."""
        async with self._connect("diff") as looking:
            held = await self._at_the_same_position(looking)
            live, shadow = self.projection.schema, self.shadow.schema
            tables = [await compare_schemas(looking, shadow, live, table) for table in self.projection.tables]
            return held, tables

    async def _at_the_same_position(self, looking: Connection) -> dict[str, int]:
        """Begin a transaction that sees both as they are at one position."""
        await self._near()
        async with self._connect("hold") as holder, holder.transaction():
            held = await self._hold(holder)
            await looking.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1")
        return held

    async def _near(self) -> None:
        """Most of the way, before anybody has to wait."""
        for name, end in (await self._live()).items():
            await self._catch_up(name, end)

    async def _hold(self, holder: Connection) -> dict[str, int]:
        """Whoever projects waits from here until the holder's transaction ends. The rest of the way; where it ends."""
        held = {row["partition"]: row["seq"] for row in await holder.fetch(_HOLD, self.projection.schema)}
        for name, end in held.items():
            await self._catch_up(name, end)
        return held

    async def swap(self) -> dict[str, int]:
        """The shadow serves from here on; its positions. The projector finds its checkpoint moved, and goes on."""
        live, shadow = self.projection.schema, self.shadow.schema
        await self._near()
        async with self._connect("swap") as holder:
            async with holder.transaction():
                held = await self._hold(holder)
                # Renaming takes no lock on any table: reads that have begun end on the old ones.
                await forget_checkpoints(holder, live)
                await holder.execute(_FORGET_FORM, live)
                await holder.execute(f"ALTER SCHEMA {quoted(live)} RENAME TO {quoted(self._old)}")
                await holder.execute(f"ALTER SCHEMA {quoted(shadow)} RENAME TO {quoted(live)}")
                await holder.execute(_TAKE_CHECKPOINTS, shadow, live)
                await holder.execute(_TAKE_FORM, shadow, live)
            await drop_when_unread(holder, self._old)
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
    events: int = 0
    """That the log had when it began."""
    resumed_at: int = 0
    """Of them, folded by one that was interrupted; 0: it began at the first."""
    fold_s: float = 0.0
