"""Signs of life, and what runs, into `tel_fleet.presence`: gathered by device, written at most once a second.

Volatile by design.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final
from uuid import UUID

import asyncpg
import msgspec
import structlog

from drover.bus.telemetry import Beat
from drover.postgres.pool import Pool
from drover.projection.event_table import jsonb_text
from drover.projection.metrics import PRESENCE_DROPPED, PRESENCE_ROWS

FLUSH_EVERY_S: Final = 1.0
DEVICES_WAITING_MAX: Final = 100_000
"""Distinct devices held between two writes; beyond it new ones are dropped, and heard again at their next heartbeat."""
ROWS_PER_STATEMENT_MAX: Final = 10_000

_UPSERT: Final = """
INSERT INTO tel_fleet.presence AS p (device_id, last_seen_at, reported, assignment_id, run, progress_pct, ad_playing)
SELECT * FROM unnest($1::uuid[], $2::timestamptz[], $3::jsonb[], $4::uuid[], $5::int[], $6::int[], $7::bool[])
ON CONFLICT (device_id) DO UPDATE
SET last_seen_at = excluded.last_seen_at,
    reported = coalesce(excluded.reported, p.reported),
    assignment_id = coalesce(excluded.assignment_id, p.assignment_id),
    run = coalesce(excluded.run, p.run),
    progress_pct = coalesce(excluded.progress_pct, p.progress_pct),
    ad_playing = coalesce(excluded.ad_playing, p.ad_playing)
WHERE excluded.last_seen_at >= p.last_seen_at
"""
_RUN_MAX: Final = 2**31 - 1


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
        self._waiting: dict[UUID, Beat] = {}
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

    def note(self, beats: Iterable[Beat]) -> None:
        """Keep the newest sign of each device until the next write. Never blocks; what is malformed is counted."""
        for beat in beats:
            device = _device(beat)
            if device is None:
                self._dropped.inc()
            else:
                self._merge(device, beat)
        if self._waiting:
            self._wake.set()

    def _merge(self, device: UUID, beat: Beat) -> None:
        held = self._waiting.get(device)
        if held is None:
            if len(self._waiting) >= self._devices_waiting_max:
                self._dropped.inc()
                return
        else:
            beat = beat.after(held) if beat.seen_at >= held.seen_at else held.after(beat)
        self._waiting[device] = beat

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

    async def _write(self, signs: dict[UUID, Beat]) -> None:
        beats = list(signs.values())
        works = [beat.work for beat in beats]
        await self._pool.execute(
            _UPSERT,
            list(signs),
            [beat.seen_at for beat in beats],
            [None if b.reported is None else jsonb_text(msgspec.json.encode(b.reported).decode()) for b in beats],
            [None if work is None else UUID(work.assignment_id) for work in works],
            [None if work is None else work.run for work in works],
            [None if work is None else work.progress_pct for work in works],
            [None if work is None else work.ad_playing for work in works],
        )
        self._rows.inc(len(signs))


def _device(beat: Beat) -> UUID | None:
    """None where a column could not hold the beat: one such row would have all others refused with it."""
    work = beat.work
    try:
        if work is not None:
            UUID(work.assignment_id)
            if not (0 <= work.progress_pct <= 100 and 0 <= work.run <= _RUN_MAX):
                return None
        return UUID(beat.device_id)
    except ValueError:
        return None
