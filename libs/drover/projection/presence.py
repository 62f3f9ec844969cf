"""Signs of life into `tel_fleet.presence`: gathered by device and written at most once a second. Volatile by design."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import asyncpg
import msgspec
import structlog

from drover.postgres.pool import Pool
from drover.projection.event_table import jsonb_text
from drover.projection.metrics import PRESENCE_DROPPED, PRESENCE_ROWS

FLUSH_EVERY_S: Final = 1.0
DEVICES_WAITING_MAX: Final = 100_000
"""Distinct devices held between two writes; beyond it new ones are dropped, and heard again at their next heartbeat."""
ROWS_PER_STATEMENT_MAX: Final = 10_000

_UPSERT: Final = """
INSERT INTO tel_fleet.presence AS p (device_id, last_seen_at, reported)
SELECT * FROM unnest($1::uuid[], $2::timestamptz[], $3::jsonb[])
ON CONFLICT (device_id) DO UPDATE
SET last_seen_at = excluded.last_seen_at, reported = coalesce(excluded.reported, p.reported)
WHERE excluded.last_seen_at >= p.last_seen_at
"""

Sign = tuple[datetime, Any]
"""When it was heard, and what it reported of itself (anything that is JSON; None: nothing new)."""

log = structlog.get_logger("drover.projection")


class PresenceWriter:
    """Takes signs of life at any rate; costs Postgres one statement a second. Stop writes what is waiting."""

    def __init__(
        self,
        pool: Pool,
        context: str = "fleet",
        flush_every_s: float = FLUSH_EVERY_S,
        devices_waiting_max: int = DEVICES_WAITING_MAX,
    ) -> None:
        self._pool = pool
        self._flush_every_s = flush_every_s
        self._devices_waiting_max = devices_waiting_max
        self._waiting: dict[UUID, Sign] = {}
        self._wake = asyncio.Event()
        self._stop = asyncio.Event()
        self._rows = PRESENCE_ROWS.labels(context)
        self._dropped = PRESENCE_DROPPED.labels(context)

    async def __aenter__(self) -> PresenceWriter:
        self._task = asyncio.create_task(self._run(), name="presence")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop.set()
        self._wake.set()
        await self._task

    async def wait_failed(self) -> None:
        """Return only by raising, when something that nobody foresaw has ended the writing."""
        await asyncio.shield(self._task)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def note(self, signs: Mapping[str, Sign]) -> None:
        """Keep the newest sign of each device until the next write. Never blocks; what is malformed is counted."""
        for device_id, (seen_at, reported) in signs.items():
            try:
                device = UUID(device_id)
            except ValueError:
                self._dropped.inc()
                continue
            self._merge(device, (seen_at, reported))
        if self._waiting:
            self._wake.set()

    def _merge(self, device: UUID, sign: Sign) -> None:
        held = self._waiting.get(device)
        if held is None:
            if len(self._waiting) >= self._devices_waiting_max:
                self._dropped.inc()
                return
        else:
            newer, older = (sign, held) if sign[0] >= held[0] else (held, sign)
            sign = (newer[0], older[1] if newer[1] is None else newer[1])
        self._waiting[device] = sign

    async def _run(self) -> None:
        while not self._stop.is_set():
            await self._wake.wait()
            self._wake.clear()
            await self._flush()
            try:
                await asyncio.wait_for(self._stop.wait(), self._flush_every_s)
            except TimeoutError:
                continue
        await self._flush()

    async def _flush(self) -> None:
        waiting, self._waiting = self._waiting, {}
        devices = sorted(waiting)  # two replicas that lock the same rows in the same order never wait for each other
        for start in range(0, len(devices), ROWS_PER_STATEMENT_MAX):
            some = devices[start : start + ROWS_PER_STATEMENT_MAX]
            try:
                await self._write({device: waiting[device] for device in some})
            except asyncpg.DataError:
                self._dropped.inc(len(some))
                log.exception("presence_refused", rows=len(some))
            except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
                log.warning("presence_waits", rows=len(devices) - start, why=repr(error))
                for device in devices[start:]:
                    self._merge(device, waiting[device])  # what came meanwhile is newer and wins
                self._wake.set()
                return

    async def _write(self, signs: dict[UUID, Sign]) -> None:
        reported = [None if r is None else jsonb_text(msgspec.json.encode(r).decode()) for _, r in signs.values()]
        await self._pool.execute(_UPSERT, list(signs), [seen_at for seen_at, _ in signs.values()], reported)
        self._rows.inc(len(signs))
