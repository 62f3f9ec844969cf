"""Rebuilds a read model in a second schema (the shadow), compares it with the live one, and swaps both in one step.

The shadow has its own checkpoints, so that an interrupted rebuild can resume. It triggers no side effects.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Final

import asyncpg
import msgspec

from drover.eventlog.histories import OfAnotherHistory
from drover.eventlog.log import EventLog
from drover.postgres.pool import Connection, connect
from drover.projection.catch_up import SETTINGS as BULK
from drover.projection.catch_up import complete, fold_up_to
from drover.projection.checkpoint import forget_checkpoints, refuse_other_logs
from drover.projection.difference import TableReport
from drover.projection.errors import (
    OldReadModelRead,
    ReaderViewsRead,
    ReadModelMissing,
    RebuildBusy,
)
from drover.projection.identifiers import quoted
from drover.projection.indices import drop_plain_indices
from drover.projection.projection import Projection
from drover.projection.read_model import added_columns, ensure_read_model
from drover.projection.reader_views import renew_reader_views
from drover.projection.schema_comparison import compare_schemas
from drover.projection.schema_drop import drop_when_unread

SWAP_S: Final = 120.0
"""How many seconds to retry the swap while somebody reads a view for SQL readers. A statement locks the views that it
reads, and the swap must replace them."""
SWAP_AGAIN_S: Final = 0.5
VIEW_LOCK_MS: Final = 500
SETTINGS: Final = {"statement_timeout": "0", "idle_in_transaction_session_timeout": "0"}

_LOCK: Final = "SELECT pg_try_advisory_lock(hashtextextended('drover.rebuild:' || $1, 0))"
_STANDS: Final = "SELECT partition, seq, n FROM drover.checkpoints WHERE schema = $1 ORDER BY partition"
_HOLD: Final = "SELECT partition, seq FROM drover.checkpoints WHERE schema = $1 ORDER BY partition FOR UPDATE"
_EVENTS: Final = "SELECT coalesce(sum(n), 0)::bigint FROM drover.checkpoints WHERE schema = $1"
_HASH: Final = "SELECT hash FROM drover.read_models WHERE schema = $1"
_TAKE_STATES: Final = """
UPDATE drover.checkpoints AS shadow SET caught_up_at = live.caught_up_at
FROM drover.checkpoints AS live
WHERE shadow.schema = $1 AND live.schema = $2 AND live.partition = shadow.partition
"""
_TAKE_CHECKPOINTS: Final = "UPDATE drover.checkpoints SET schema = $2 WHERE schema = $1"
_TAKE_FORM: Final = "UPDATE drover.read_models SET schema = $2, used_at = now() WHERE schema = $1"
_FORGET_FORM: Final = "DELETE FROM drover.read_models WHERE schema = $1"

Progress = Callable[[int, int], None]
"""Called with (events applied, events in total)."""


def shadow_of(projection: Projection) -> Projection:
    return replace(projection, schema=f"{projection.schema}__shadow")


class Rebuild:
    """One rebuild, from the first commit to the swap. While it is open, no other process can rebuild the same read
    model."""

    def __init__(self, projection: Projection, logs: Sequence[EventLog], dsn: str) -> None:
        self.projection = projection
        self.shadow = shadow_of(projection)
        self.resumed_at = 0
        """How many events an interrupted rebuild had applied; 0: this one started over. Known once `fold` has begun."""
        self.events = 0
        """How many events there are to apply in total."""
        self._old = f"{projection.schema}__old"
        self._logs = {log.partition.name: log for log in logs}
        self._dsn = dsn
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Rebuild:
        # Commits of this connection are not synchronous. The swap is, and flushes everything before it.
        self._connection: Connection = await self._stack.enter_async_context(self._connect("rebuild", BULK))
        if not await self._connection.fetchval(_LOCK, self.projection.schema):
            await self._stack.aclose()
            raise RebuildBusy(self.projection.name)
        if not await drop_when_unread(self._connection, self._old):  # left by a rebuild that was killed
            await self._stack.aclose()
            raise OldReadModelRead(self._old)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def _connect(self, what: str, settings: dict[str, str] = SETTINGS) -> AbstractAsyncContextManager[Connection]:
        """Open a connection without a statement time-out."""
        return connect(self._dsn, f"drover-{what} {self.projection.name}", settings, command_s=None)

    async def fold(
        self, progress: Progress = lambda done, of: None, say: Callable[[str], None] = lambda stage: None
    ) -> dict[str, int]:
        """Apply the log to the shadow schema, up to the present positions of the live one; return the positions of the
        shadow. An interrupted rebuild is continued."""
        await refuse_other_logs(self._connection, self.projection.schema, self._logs.values())
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
        await complete(self._connection, self.shadow)
        return ends

    async def _begin_or_go_on(self, ends: Mapping[str, int]) -> None:
        """Resume an interrupted rebuild. If its tables have another form or are of another history, or it is ahead of
        the live schema, start over."""
        try:
            await refuse_other_logs(self._connection, self.shadow.schema, self._logs.values())
        except OfAnotherHistory:
            await self.drop()
        stands = {row["partition"]: row["seq"] for row in await self._connection.fetch(_STANDS, self.shadow.schema)}
        if any(seq > ends.get(name, 0) for name, seq in stands.items()):
            await self.drop()
        if await self._connection.fetchval(_HASH, self.shadow.schema) != self.shadow.hash:
            await self.drop()
        if await ensure_read_model(self._connection, self.shadow):
            await drop_plain_indices(self._connection, self.shadow.schema)
        self.resumed_at = sum((await self._stands()).values())

    async def _stands(self) -> dict[str, int]:
        """Return, by partition, how many events are applied to the shadow."""
        return {row["partition"]: row["n"] for row in await self._connection.fetch(_STANDS, self.shadow.schema)}

    async def _live(self) -> dict[str, int]:
        stands = {row["partition"]: row["seq"] for row in await self._connection.fetch(_STANDS, self.projection.schema)}
        if not stands:
            raise ReadModelMissing(self.projection.schema)
        return stands

    async def _catch_up(self, partition: str, end: int, progress: Callable[[int], None] = lambda done: None) -> None:
        await fold_up_to(self._connection, self.shadow, self._logs[partition], end, lambda at: progress(at.n))

    async def diff(self) -> tuple[dict[str, int], list[TableReport]]:
        """Compare both schemas row by row at the same positions. The live schema keeps changing, so a snapshot of it is
        compared."""
        async with self._connect("diff") as looking:
            held = await self._at_the_same_position(looking)
            live, shadow = self.projection.schema, self.shadow.schema
            added = await added_columns(looking, live)
            tables = [await compare_schemas(looking, shadow, live, table, added) for table in self.projection.tables]
            return held, tables

    async def _at_the_same_position(self, looking: Connection) -> dict[str, int]:
        """Begin a transaction that sees the live and the shadow schema at the same position."""
        await self._near()
        async with self._connect("hold") as holder, holder.transaction():
            held = await self._hold(holder)
            await looking.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1")
        return held

    async def _near(self) -> None:
        """Bring the shadow up to date with most of the log, before `_hold` blocks the projectors."""
        for name, end in (await self._live()).items():
            await self._catch_up(name, end)

    async def _hold(self, holder: Connection) -> dict[str, int]:
        """Block the projectors until the holder's transaction ends, and bring the shadow fully up to date; return the
        positions."""
        held = {row["partition"]: row["seq"] for row in await holder.fetch(_HOLD, self.projection.schema)}
        for name, end in held.items():
            await self._catch_up(name, end)
        return held

    async def swap(self) -> dict[str, int]:
        """Make the shadow the live schema; return its positions. The projector notices that its checkpoint was moved,
        and continues from there."""
        give_up_at = time.monotonic() + SWAP_S
        await self._near()
        async with self._connect("swap") as holder:
            while True:
                try:
                    held = await self._swap(holder)
                    break
                except asyncpg.LockNotAvailableError as error:
                    if time.monotonic() > give_up_at:
                        raise ReaderViewsRead(self.projection.schema) from error
                await asyncio.sleep(SWAP_AGAIN_S)
            await drop_when_unread(holder, self._old)
        return held

    async def _swap(self, holder: Connection) -> dict[str, int]:
        live, shadow = self.projection.schema, self.shadow.schema
        async with holder.transaction():
            held = await self._hold(holder)
            # Renaming locks no table: running reads finish on the old ones.
            await holder.execute(_TAKE_STATES, shadow, live)
            await forget_checkpoints(holder, live)
            await holder.execute(_FORGET_FORM, live)
            await holder.execute(f"ALTER SCHEMA {quoted(live)} RENAME TO {quoted(self._old)}")
            await holder.execute(f"ALTER SCHEMA {quoted(shadow)} RENAME TO {quoted(live)}")
            await holder.execute(_TAKE_CHECKPOINTS, shadow, live)
            await holder.execute(_TAKE_FORM, shadow, live)
            # A reader's statement locks its view; projectors must not wait for it.
            await holder.execute(f"SET LOCAL lock_timeout = {VIEW_LOCK_MS}")
            await renew_reader_views(holder, self.projection)
            return held

    async def drop(self) -> None:
        """Drop the shadow schema."""
        async with self._connection.transaction():
            await self._connection.execute(f"DROP SCHEMA IF EXISTS {quoted(self.shadow.schema)} CASCADE")
            await forget_checkpoints(self._connection, self.shadow.schema)
            await self._connection.execute(_FORGET_FORM, self.shadow.schema)


class Outcome(msgspec.Struct):
    """The result of a rebuild."""

    projection: str
    positions: Mapping[str, int]
    tables: list[TableReport]
    swapped: bool
    events: int = 0
    """How many events the log had when the rebuild began."""
    resumed_at: int = 0
    """How many of these events an interrupted rebuild had applied. 0: the rebuild started over."""
    fold_s: float = 0.0
