"""Checks that the NATS servers sync every write to disk: before the start, and every minute after it.

A server that does not sync prevents the start, unless the settings allow it. If one is found later, the process runs
on, because the server did sync what it acknowledged before: an error is logged, and the metric `drover_log_synced`
becomes 0.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import structlog

from drover.bus.connection import NatsUnreachable, connected
from drover.eventlog.durability import DurabilityUnknown, UnsyncedServer, refuse_unsynced
from drover.eventlog.metrics import SYNCED
from drover.service.config import Settings
from drover.service.tasks import in_background

LOOK_EVERY_S: Final = 60.0

log = structlog.get_logger("drover.serve")


async def check_durability(settings: Settings) -> None:
    """Raise an error if a NATS server does not sync, or does not say whether it does, unless the settings allow
    that."""
    SYNCED.set(0)
    if settings.allow_unsynced:
        log.warning("unsynced_servers_allowed", setting="DROVER_ALLOW_UNSYNCED")
        return
    if settings.nats_system_url is None:
        raise DurabilityUnknown("DROVER_NATS_SYSTEM_URL is not set, so Drover cannot ask whether the servers sync")
    async with connected(settings.nats_system_url, f"{settings.instance}-durability") as system:
        log.info("servers_sync_every_write", servers=await refuse_unsynced(system))
    SYNCED.set(1)


@asynccontextmanager
async def watching_durability(settings: Settings, *, look_every_s: float = LOOK_EVERY_S) -> AsyncIterator[None]:
    """Check the servers every minute. Does nothing if the settings allow servers that do not sync."""
    if settings.allow_unsynced or settings.nats_system_url is None:
        yield
        return
    async with in_background(_watch(settings, look_every_s), name="durability watch"):
        yield


async def _watch(settings: Settings, look_every_s: float) -> None:
    while True:
        await asyncio.sleep(look_every_s)
        try:
            await check_again(settings)
        except (DurabilityUnknown, NatsUnreachable) as error:
            log.warning("durability_unknown", error=str(error))  # keep the last known value


async def check_again(settings: Settings) -> None:
    assert settings.nats_system_url is not None
    async with connected(settings.nats_system_url, f"{settings.instance}-durability") as system:
        try:
            await refuse_unsynced(system)
        except UnsyncedServer as unsynced:
            SYNCED.set(0)
            log.error("servers_do_not_sync", servers=unsynced.servers, alert=True)
        else:
            SYNCED.set(1)
