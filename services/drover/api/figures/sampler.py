"""Measures the farm a few times a minute, and keeps one row a minute for 31 days: what charts show and no event says.

The log has each attempt, but not how many phones were idle at 9:15, nor how far the read models were behind. And a
minute without a row is one in which nothing was measured, so charts can tell a quiet farm from a platform that was off.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol

import msgspec
import structlog

from drover.domain.fleet.state import DeviceStatus
from drover.postgres.errors import POSTGRES_AWAY
from drover.service.tasks import in_background
from drover.web.errors import ApiError

EVERY_S: Final = 15.0
KEPT_DAYS: Final = 31
"""Charts show up to 30 days. 31 days are 44,640 rows, about 7 MB."""
SAMPLES_BETWEEN_CLEANINGS: Final = 240
WRITE_S: Final = 5.0

# Several api processes measure the same minute: they write the same row.
_KEEP: Final = """
INSERT INTO drover.farm_minutes AS m (minute, online, busy, offline, error, lag_ms)
VALUES (date_trunc('minute', now()), $1, $2, $3, $4, $5)
ON CONFLICT (minute) DO UPDATE SET
  online = excluded.online, busy = excluded.busy, offline = excluded.offline, error = excluded.error,
  lag_ms = greatest(m.lag_ms, excluded.lag_ms)
"""
_FORGET: Final = "DELETE FROM drover.farm_minutes WHERE minute < now() - make_interval(days => $1)"

log = structlog.stdlib.get_logger(__name__)


class Pool(Protocol):
    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str: ...  # noqa: ASYNC109


class Sample(msgspec.Struct, frozen=True):
    """One measurement."""

    devices: dict[str, int]
    """How many devices have each status; 0 if it is absent."""
    lag_s: float | None
    """The largest lag of a read model; None if it could not be measured."""


class Sampler:
    def __init__(self, pool: Pool, measure: Callable[[], Awaitable[Sample]], *, every_s: float = EVERY_S) -> None:
        self._pool = pool
        self._measure = measure
        self._every_s = every_s
        self._kept = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with in_background(self._run(), name="farm-minutes"):
            yield

    async def _run(self) -> None:
        """Measure again and again. While Postgres is away nothing is kept, and charts show a gap."""
        while True:
            try:
                await self.keep()
            except (*POSTGRES_AWAY, ApiError) as error:
                log.warning("farm_not_measured", why=repr(error))
            except Exception:
                log.exception("farm_not_measured")
            await asyncio.sleep(self._every_s)

    async def keep(self) -> None:
        """Measure once, and forget old minutes from time to time."""
        sample = await self._measure()
        counts = [sample.devices.get(status, 0) for status in _ORDER]
        lag_ms = None if sample.lag_s is None else round(sample.lag_s * 1000)
        await self._pool.execute(_KEEP, *counts, lag_ms, timeout=WRITE_S)
        if self._kept % SAMPLES_BETWEEN_CLEANINGS == 0:
            await self._pool.execute(_FORGET, KEPT_DAYS, timeout=WRITE_S)
        self._kept += 1


_ORDER: Final = (DeviceStatus.ONLINE, DeviceStatus.BUSY, DeviceStatus.OFFLINE, DeviceStatus.ERROR)
