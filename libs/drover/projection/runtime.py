"""Runs one projection of one partition: takes its lock, follows the log, writes batches, retries after outages.

A *term* is the life of one connection. The connection has the advisory lock, the staging tables and every write, so all
of them end together. Any failure ends the term. The next term continues from the checkpoint in the database, which also
tells whether a COMMIT without an answer took effect.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final

import asyncpg
import msgspec
import structlog

from drover.bus.rows import PublishRows
from drover.domain.backoff import Backoff, Retries
from drover.domain.partitions import MAIN
from drover.eventlog.codec import Codec
from drover.eventlog.histories import OfAnotherHistory
from drover.eventlog.log import EventLog, LogUnreachable
from drover.postgres.errors import POSTGRES_AWAY
from drover.postgres.pool import Connection, connect
from drover.projection import metrics
from drover.projection.batch import CACHED_ROWS_MAX, BatchTables
from drover.projection.catch_up import build
from drover.projection.checkpoint import (
    Checkpoint,
    is_caught_up,
    note_caught_up,
    note_not_caught_up,
    read_checkpoint,
    refuse_another_log,
)
from drover.projection.errors import CheckpointMoved, ProjectionStopped
from drover.projection.feed import BATCH_BYTES_MAX, BATCH_EVENTS_MAX, Feed
from drover.projection.folder import Folded, Folder
from drover.projection.form_keeping import keep_form
from drover.projection.indices import has_all_indices
from drover.projection.pace import Pace
from drover.projection.presence_rows import PresenceRows
from drover.projection.projection import Projection
from drover.projection.read_model import ensure_read_model, note_use
from drover.projection.reader_views import ensure_reader_views
from drover.projection.row_stream import RowStream
from drover.projection.spans import record_projected
from drover.projection.store import Store
from drover.projection.table_partitions import detached_before
from drover.service.reasons import reason_of
from drover.service.tasks import end, in_background

STANDBY_POLL_S: Final = 1.0
PACE_S: Final = 0.03
IDLE_S: Final = 1.0
"""How often, while nothing happens, the connection is checked and the position announced again."""
SILENT_TERM_S: Final = 20.0
"""Postgres ends the session of a projector that is silent for this long, such as a paused process. This frees its
lock."""
RETRY: Final = Backoff(first_s=0.1, max_s=5.0)
ANNOUNCE_TIMEOUT_S: Final = 1.0
STOP_TIMEOUT_S: Final = 10.0
"""How long a stop waits for the current batch. A batch that is not written by then is interrupted, and written
later."""

Announce = Callable[[str, str, int], Awaitable[None]]
"""Called with (context, partition, seq) when the read model has reached this sequence."""

_TRY_LOCK: Final = "SELECT pg_try_advisory_lock(hashtextextended('drover.projection:' || $1 || '/' || $2, 0))"
_BY_KEY: Final = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}
"""Settings that make PostgreSQL find rows by key, as every statement of a projector does. Without them the planner may
choose other plans while a table is small or its statistics are old. Selecting a batch took 17 ms without these
settings, and 3 ms with them."""
_REFUSED: Final = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
    ValueError,  # asyncpg could not encode a value, so the server never saw it
    TypeError,
    OverflowError,
)
"""Errors that a retry cannot fix: Postgres would refuse the same rows again."""
_PASSING: Final = (
    *POSTGRES_AWAY,
    asyncpg.InternalClientError,
    LogUnreachable,
    CheckpointMoved,
)
"""Errors after which a retry may succeed."""

log = structlog.get_logger("drover.projection")


class Limits(msgspec.Struct, frozen=True):
    """Limits of one projection: of its memory, and of how often it writes."""

    batch_events_max: int = BATCH_EVENTS_MAX
    batch_bytes_max: int = BATCH_BYTES_MAX
    cached_rows_max: int = CACHED_ROWS_MAX
    pace_s: float = PACE_S
    """The least time between two batches while few commits arrive."""


async def announce_nothing(context: str, partition: str, seq: int) -> None:
    """Announce nothing: for runners whose positions nobody needs."""


class Runner:
    """Runs the projection while its `async with` block is open. On exit it finishes the current batch and releases the
    lock."""

    def __init__(
        self,
        projection: Projection,
        log: EventLog,
        dsn: str,
        announce: Announce = announce_nothing,
        limits: Limits | None = None,
        publish: PublishRows | None = None,
        presence: PresenceRows | None = None,
        *,
        reader_schema: str | None = None,
    ) -> None:
        """`publish`: where changed rows are sent. None: they are not published. `presence`: rows that signs of life
        change without events; only for a context with one partition, because a sign of life does not say which one it
        belongs to. `reader_schema`: the schema of the views for people who read with SQL. None: no views are made."""
        assert presence is None or log.partition.name == MAIN
        self.projection = projection
        self.partition = log.partition
        self.checkpoint = Checkpoint()
        """The last checkpoint that this process read or wrote."""
        self.active = False
        """Whether this process has the lock and so writes the read model."""
        self.stopped: ProjectionStopped | None = None
        """Why the projection has stopped for good, if it has."""
        self._log = log
        self._dsn = dsn
        self._announce = announce
        self._publish = publish
        self._presence = presence
        self._reader_schema = reader_schema
        self._limits = limits or Limits()
        self._codec = Codec(projection.events, projection.upcasters)
        self._log_was_away = False
        """Whether the log did not answer when it was last compared with the checkpoint."""
        self._stop = asyncio.Event()
        self._pace = Pace(self._limits.pace_s)
        self._retries = Retries(RETRY)
        self._labels = (projection.context, self.partition.name)
        self._behind = metrics.BEHIND.labels(*self._labels)
        self._position = metrics.POSITION.labels(*self._labels)
        self._events = metrics.EVENTS.labels(projection.context)
        self._seconds = metrics.BATCH_SECONDS.labels(projection.context)
        self._failures = metrics.FAILURES.labels(projection.context)
        self._delay = metrics.DELAY_SECONDS.labels(projection.context)

    async def __aenter__(self) -> Runner:
        metrics.STOPPED.labels(*self._labels).set(0)
        metrics.DISK_FULL.labels(*self._labels).set(0)
        self._task = asyncio.create_task(self._run(), name=f"projection {self.projection.name} {self.partition.name}")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop.set()
        try:
            await asyncio.wait({self._task}, timeout=STOP_TIMEOUT_S)
        finally:
            await end(self._task)

    def hurry(self, seq: int) -> None:
        """Do not pause before the batch with this position, because a read waits for it."""
        self._pace.hurry(seq)

    async def _run(self) -> None:
        """Run term after term, until stopped or unable to go on."""
        while not self._stop.is_set():
            try:
                await self._term()
            except ProjectionStopped as stopped:
                self._stand_still(stopped)
                return
            except _PASSING as error:
                self._failures.inc()
                metrics.DISK_FULL.labels(*self._labels).set(isinstance(error, asyncpg.DiskFullError))
                pause_s = self._retries.failed()
                log.warning("projection_retries", **self._name, in_s=pause_s, why=repr(error))
                await self._pause(pause_s)
            except Exception as error:
                self._stand_still(self._error("internal", what=repr(error)), error)
                return
            finally:
                self._set_active(False)

    async def _term(self) -> None:
        async with connect(
            self._dsn,
            f"drover-projector {self.projection.name}",
            {
                "idle_session_timeout": str(int(SILENT_TERM_S * 1000)),
                "idle_in_transaction_session_timeout": str(int(SILENT_TERM_S * 1000)),
                **_BY_KEY,
            },
        ) as connection:
            if not await self._compete(connection):
                return
            await ensure_read_model(connection, self.projection)
            self.checkpoint = await self._read_checkpoint(connection)
            try:
                await self._check_log(await detached_before(connection, self.projection.context))
            except ProjectionStopped:
                # Clients must not take rows of another history for those of this one.
                await note_not_caught_up(connection, self.projection.schema, self.partition.name)
                raise
            if not await self._catch_up(connection):
                return
            if self._reader_schema is not None:
                await ensure_reader_views(connection, self.projection, self._reader_schema)
            store = Store(connection, self.projection, self.partition.name)
            await store.open()
            self.checkpoint = await self._read_checkpoint(connection)
            self._set_active(True)
            log.info("projection_active", **self._name, seq=self.checkpoint.seq)
            await self._say_position()
            rows = self._row_stream(store)
            if rows is not None:
                await rows.beat()
            async with (
                in_background(keep_form(self._dsn, self.projection, self._reader_schema)),
                self._log.read(after=self.checkpoint.seq) as reader,
            ):
                limits = self._limits
                feed = Feed(
                    reader,
                    self._codec,
                    self.partition,
                    self.checkpoint,
                    limits.batch_events_max,
                    limits.batch_bytes_max,
                )
                tables = BatchTables(self.projection, limits.cached_rows_max)
                await self._follow(Folder(self.projection, self.partition, feed, store, tables), store, rows)

    async def _read_checkpoint(self, connection: Connection) -> Checkpoint:
        projection = self.projection
        return await read_checkpoint(connection, projection.schema, self.partition.name, projection.context)

    async def _catch_up(self, connection: Connection) -> bool:
        """Bring a schema that nobody may read yet to the end of the log, and let clients read it. Return False if the
        runner was stopped first. `connection` keeps the lock meanwhile."""
        schema, partition = self.projection.schema, self.partition.name
        if await is_caught_up(connection, schema, partition) and await has_all_indices(connection, self.projection):
            return True
        metrics.ACTIVE.labels(*self._labels).set(True)  # somebody writes, although nobody can read yet
        building = asyncio.create_task(self._build())
        stop = asyncio.create_task(self._stop.wait())
        try:
            while not building.done() and not stop.done():
                await asyncio.wait({building, stop}, timeout=IDLE_S, return_when=asyncio.FIRST_COMPLETED)
                await note_use(connection, [schema])
            if not building.done():
                return False
            building.result()
        finally:
            await end(building, stop)
        await note_caught_up(connection, schema, partition)
        log.info("read_model_caught_up", **self._name, schema=schema)
        return True

    async def _build(self) -> None:
        try:
            await build(self.projection, self._log, self._dsn, self._built)
        except _REFUSED as error:
            raise self._error("refused", after_seq=self.checkpoint.seq, what=reason_of(error)) from error

    def _built(self, at: Checkpoint, end: int) -> None:
        self._events.inc(at.n - self.checkpoint.n)
        self.checkpoint = at
        self._position.set(at.seq)
        self._behind.set(max(0, end - at.seq))

    def _row_stream(self, store: Store) -> RowStream | None:
        """Make the row stream of this term; its epoch begins and ends with the term. None: nothing is published."""
        projection = self.projection
        if self._publish is None or not projection.live:
            return None
        return RowStream(
            projection.context,
            self.partition.name,
            projection.live,
            publish=self._publish,
            select=store.select,
            at=self.checkpoint.seq,
            presence=self._presence,
        )

    async def _check_log(self, detached_before: int = 0) -> None:
        """Refuse a log from which the read model was not computed: if we followed it, rows of two histories would be
        mixed. Refuse one that ends before the rows that were detached, too."""
        try:
            await refuse_another_log(self._log, self.checkpoint, self.projection.schema)
        except OfAnotherHistory as error:
            raise self._error("another_history", seq=self.checkpoint.seq, what=str(error)) from error
        if detached_before and (end := await self._log.context_end()) + 1 < detached_before:
            hint = f"restore the log, or drop the tables of {self.projection.context} in drover_detached and run "
            hint += f"`drover projection attach {self.projection.context} --fold-again`"
            raise self._error("another_history", detached_before=detached_before, log_ends_at=end, hint=hint)
        self._log_was_away = False

    async def _check_idle_log(self) -> None:
        """Notice if the log was replaced by another one while this process runs. A log does not answer while it is
        being replaced. So after such a silence, the next batch is written only after the log was compared with the
        checkpoint again."""
        try:
            await self._check_log()
        except LogUnreachable:
            self._log_was_away = True

    async def _compete(self, connection: Connection) -> bool:
        """Wait for the lock; return False if the runner was stopped first. The lock only avoids duplicate work; the
        checkpoint keeps two processes from writing the same batch."""
        while not await connection.fetchval(_TRY_LOCK, self.projection.schema, self.partition.name):
            if await self._pause(STANDBY_POLL_S):
                return False
        return True

    async def _follow(self, folder: Folder, store: Store, rows: RowStream | None) -> None:
        """Write one batch after another. While one is written, the next one is read, decoded and applied, but no
        further ones."""
        stop = asyncio.create_task(self._stop.wait())
        ahead = asyncio.create_task(folder.next())
        try:
            while True:
                await asyncio.wait({ahead, stop}, timeout=IDLE_S, return_when=asyncio.FIRST_COMPLETED)
                if stop.done():
                    return
                if ahead.done():
                    folded = ahead.result()
                    if self._log_was_away:
                        await self._check_log()
                    done = asyncio.Event()
                    ahead = asyncio.create_task(self._next(folder, folded, done))
                    await self._write(folded, store)
                    await self._say_position()
                    if rows is not None:  # before the next batch is written, so that rows are those of this position
                        await rows.written(folded.changes, folded.new.seq, folded.behind)
                    done.set()
                else:
                    await store.ping(self.checkpoint)
                    await self._check_idle_log()
                    await self._say_position(await self._quiet_through())
                    if rows is not None:
                        await rows.beat()
        finally:
            await end(ahead, stop)

    async def _next(self, folder: Folder, before: Folded, done: asyncio.Event) -> Folded:
        """Return the batch after `before`.

        If `before` reached the end of the log, pause and wait until it is written (`done`). A batch that is collected
        earlier would only wait, and lack later commits. A commit to an idle log is still written at once.
        """
        if before.behind == 0:
            await self._pace.pause(before.new.seq)
            await done.wait()
        return await folder.next()

    async def _write(self, folded: Folded, store: Store) -> None:
        started = time.perf_counter()
        with self._seconds.time():
            try:
                await store.write(folded.changes, folded.old, folded.new)
            except _REFUSED as error:
                where = {"after_seq": folded.old.seq, "to_seq": folded.new.seq}
                raise self._error("refused", **where, what=reason_of(error)) from error
        self.checkpoint = folded.new
        self._retries.succeeded()
        metrics.DISK_FULL.labels(*self._labels).set(0)
        self._events.inc(folded.new.n - folded.old.n)
        self._behind.set(folded.behind)
        if folded.since is not None:
            self._delay.observe(max(0.0, (datetime.now(UTC) - folded.since).total_seconds()))
        if folded.traces:
            record_projected(folded.traces, *self._labels, started)

    async def _quiet_through(self) -> int:
        """Return the sequence in the context's stream up to which this partition has all its commits; 0 if that is
        unknown.

        The last commits of the stream may all be of other partitions. An idle partition announces this sequence, so
        that it does not delay reads that wait for the whole context.
        """
        if self.partition.name == MAIN:
            return 0
        try:
            # Read before `last`: a commit that this partition gets in between is after `end`.
            end = await self._log.context_end()
            last = await self._log.last()
        except LogUnreachable:
            return 0
        return end if last is None or last.seq <= self.checkpoint.seq else 0

    async def _say_position(self, quiet_through: int = 0) -> None:
        """Announce the position. A failure must not delay the projection: readers that miss an announcement get the
        next one."""
        self._position.set(self.checkpoint.seq)
        seq = max(self.checkpoint.seq, quiet_through)
        try:
            async with asyncio.timeout(ANNOUNCE_TIMEOUT_S):
                await self._announce(self.projection.context, self.partition.name, seq)
        except Exception as error:
            log.warning("announcement_failed", **self._name, why=repr(error))

    async def _pause(self, seconds: float) -> bool:
        """Wait. Return True if the runner was stopped meanwhile."""
        try:
            async with asyncio.timeout(seconds):
                await self._stop.wait()
        except TimeoutError:
            return False
        return True

    def _set_active(self, active: bool) -> None:
        self.active = active
        metrics.ACTIVE.labels(*self._labels).set(active)

    def _stand_still(self, stopped: ProjectionStopped, cause: BaseException | None = None) -> None:
        """Report that the projection has stopped for good: as an error in the process's log, a metric that stays at 1,
        and a process that is not ready."""
        self.stopped = stopped
        self._failures.inc()
        metrics.STOPPED.labels(*self._labels).set(1)
        log.error(
            "projection_stopped", **self._name, reason=stopped.reason, **stopped.details, exc_info=cause or stopped
        )

    def _error(self, reason: str, **details: Any) -> ProjectionStopped:
        return ProjectionStopped(self.projection.context, self.partition.name, reason, **details)

    @property
    def _name(self) -> dict[str, str]:
        return {"projection": self.projection.name, "partition": self.partition.name}
