"""Writes signs of life into a context's presence table: the newest of each device, at most once a second.

The table is not derived from the log, and may lose signs of life. Each context says which table it is, and which fields
of a sign of life go there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import asyncpg
import structlog

from drover.bus.telemetry import Beat
from drover.postgres.errors import POSTGRES_AWAY
from drover.postgres.pool import Pool
from drover.projection.metrics import PRESENCE_DROPPED, PRESENCE_ROWS

FLUSH_EVERY_S: Final = 1.0
DEVICES_WAITING_MAX: Final = 100_000
"""How many devices may wait for the next write. Beyond it, the sign of life of a further device is dropped."""
ROWS_PER_STATEMENT_MAX: Final = 10_000
FORGET_EVERY_S: Final = 600.0

Key = Any
"""The key of a row: hashable and sortable, such as a UUID or a text."""


log = structlog.get_logger("drover.projection")


@dataclass(frozen=True, kw_only=True)
class PresenceTable:
    """The presence table of one context."""

    context: str
    upsert: str
    """The statement that writes signs of life. It takes one array per column, the key first. A sign of life that is
    older than the row changes nothing."""
    key: Callable[[Beat], Key | None]
    """Returns the key of the sender, or None if the column cannot hold that key: one such row would make the whole
    statement fail."""
    columns: Callable[[Beat], tuple[Any, ...]]
    """Returns the values of all columns but the key, in the order of the statement."""
    relation: str | None = None
    """The relation whose rows show the signs of life, by the same key. Its rows are published when they change."""
    forget: str | None = None
    """The statement that deletes senders that will not come back. None: rows are never deleted here. Needed only for
    senders that are not registered anywhere."""


class PresenceWriter:
    """Collects signs of life at any rate, and writes them with one statement a second. When it stops, it writes those
    that wait."""

    def __init__(
        self,
        pool: Pool,
        table: PresenceTable,
        flush_every_s: float = FLUSH_EVERY_S,
        devices_waiting_max: int = DEVICES_WAITING_MAX,
        on_written: Callable[[Iterable[Key]], None] | None = None,
    ) -> None:
        """`on_written` is called with the senders whose rows have changed."""
        self._pool = pool
        self._table = table
        self._flush_every_s = flush_every_s
        self._devices_waiting_max = devices_waiting_max
        self._on_written = on_written
        self._waiting: dict[Key, Beat] = {}
        self._wake = asyncio.Event()
        self._stop = asyncio.Event()
        self._forget_at = 0.0
        self._rows = PRESENCE_ROWS.labels(table.context)
        self._dropped = PRESENCE_DROPPED.labels(table.context)

    async def __aenter__(self) -> PresenceWriter:
        self._task = asyncio.create_task(self._run(), name=f"presence {self._table.context}")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop.set()
        self._wake.set()
        await self._task

    async def wait_failed(self) -> None:
        """Wait until an unexpected error ends the writer, then raise it."""
        await asyncio.shield(self._task)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def note(self, beats: Iterable[Beat]) -> None:
        """Keep the newest sign of life of each device until the next write. Never blocks; malformed signs of life are
        only counted."""
        key_of = self._table.key
        for beat in beats:
            key = key_of(beat)
            if key is None:
                self._dropped.inc()
            else:
                self._merge(key, beat)
        if self._waiting:
            self._wake.set()

    def _merge(self, key: Key, beat: Beat) -> None:
        held = self._waiting.get(key)
        if held is None:
            if len(self._waiting) >= self._devices_waiting_max:
                self._dropped.inc()
                return
        else:
            beat = beat.after(held) if beat.seen_at >= held.seen_at else held.after(beat)
        self._waiting[key] = beat

    async def _run(self) -> None:
        while not self._stop.is_set():
            await self._wake.wait()
            self._wake.clear()
            await self._flush()
            try:
                async with asyncio.timeout(self._flush_every_s):
                    await self._stop.wait()
            except TimeoutError:
                continue
        await self._flush()

    async def _flush(self) -> None:
        waiting, self._waiting = self._waiting, {}
        keys = sorted(waiting)  # replicas lock the same rows in the same order, which prevents deadlocks
        for start in range(0, len(keys), ROWS_PER_STATEMENT_MAX):
            some = keys[start : start + ROWS_PER_STATEMENT_MAX]
            try:
                await self._write({key: waiting[key] for key in some})
            except asyncpg.DataError:
                self._dropped.inc(len(some))
                log.exception("presence_refused", context=self._table.context, rows=len(some))
            except POSTGRES_AWAY as error:
                log.warning("presence_waits", context=self._table.context, rows=len(keys) - start, why=repr(error))
                for key in keys[start:]:
                    self._merge(key, waiting[key])  # signs of life that came meanwhile are newer and win
                self._wake.set()
                return

    async def _write(self, signs: dict[Key, Beat]) -> None:
        columns = zip(*((key, *self._table.columns(beat)) for key, beat in signs.items()), strict=True)
        await self._pool.execute(self._table.upsert, *map(list, columns))
        self._rows.inc(len(signs))
        if self._on_written is not None:
            self._on_written(signs)
        if self._table.forget is not None and time.monotonic() >= self._forget_at:
            self._forget_at = time.monotonic() + FORGET_EVERY_S
            await self._pool.execute(self._table.forget)
