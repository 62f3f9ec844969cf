"""Asks Postgres regularly whether it answers, for the metric `drover_postgres_up`. Nothing else depends on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import structlog

from drover.postgres import metrics
from drover.postgres.errors import POSTGRES_AWAY
from drover.postgres.pool import Pool
from drover.service.tasks import in_background

ASK_EVERY_S: Final = 10.0
ANSWER_S: Final = 3.0

log = structlog.get_logger("drover.postgres")


@asynccontextmanager
async def watching(pool: Pool, *, ask_every_s: float = ASK_EVERY_S) -> AsyncIterator[None]:
    metrics.LIMIT.labels(metrics.READ_MODELS).set(pool.get_max_size())
    metrics.CONNECTIONS.labels("busy").set_function(lambda: pool.get_size() - pool.get_idle_size())
    metrics.CONNECTIONS.labels("idle").set_function(pool.get_idle_size)
    async with in_background(_watch(pool, ask_every_s), name="postgres watch"):
        yield


async def _watch(pool: Pool, ask_every_s: float) -> None:
    was_up = True
    while True:
        why = await _trouble(pool)
        metrics.UP.labels(metrics.READ_MODELS).set(why is None)
        if (why is None) != was_up:
            was_up = why is None
            log.warning("postgres_is_away", why=why) if why else log.info("postgres_is_back")
        await asyncio.sleep(ask_every_s)


async def _trouble(pool: Pool) -> str | None:
    try:
        async with asyncio.timeout(ANSWER_S):
            await pool.fetchval("SELECT 1")
    except POSTGRES_AWAY as error:
        return repr(error)
    return None
