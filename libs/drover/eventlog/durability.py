"""Refuses NATS servers that acknowledge a write before it is synced to disk: an acknowledged command must survive a
power failure."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final

import msgspec
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from drover.domain.errors import DroverError
from drover.eventlog import metrics
from drover.service.reasons import reason_of

ANSWERS_S: Final = 1.0
"""How many seconds to collect replies. Every server of a cluster sends one."""

log = structlog.get_logger("drover.eventlog")


class UnsyncedServer(DroverError):
    """A JetStream server acknowledges writes that are not on disk yet."""

    def __init__(self, servers: list[str]) -> None:
        self.servers = servers
        super().__init__(
            f"{', '.join(servers)} acknowledges writes before they are on disk. Set `sync_interval: always` in the "
            "jetstream block of its configuration and restart it, or accept the loss of acknowledged work on a power "
            "failure with DROVER_ALLOW_UNSYNCED=1."
        )


class DurabilityUnknown(DroverError):
    """It could not be found out whether the servers sync each write to disk."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"{reason}. Give DROVER_NATS_SYSTEM_URL a user of the system account (only that account can see it), "
            "or set DROVER_ALLOW_UNSYNCED=1 to start without knowing."
        )


async def refuse_unsynced(system: Client) -> list[str]:
    """Ask every server whether it syncs each write to disk. Return the servers' names if all do; raise otherwise.
    `system`: a connection as a user of the system account."""
    found = await _ask_every_server(system)
    if not found:
        raise DurabilityUnknown("No JetStream server reported its settings")
    unsynced = [name for name, synced in found.items() if not synced]
    if unsynced:
        raise UnsyncedServer(unsynced)
    return list(found)


async def _ask_every_server(system: Client) -> dict[str, bool]:
    found: dict[str, bool] = {}

    async def on_answer(message: Msg) -> None:
        with suppress(msgspec.DecodeError):
            data = msgspec.json.decode(message.data, type=dict[str, Any]).get("data") or {}
            config = (data.get("jetstream") or {}).get("config")
            if config is not None:
                name = str(data.get("server_name"))
                found[name] = bool(config.get("sync_always"))
                stats = data["jetstream"].get("stats") or {}
                metrics.STORE_USED.labels(name).set(stats.get("storage", 0))
                metrics.STORE_LIMIT.labels(name).set(config.get("max_storage", 0))

    inbox = system.new_inbox()
    try:
        subscription = await system.subscribe(inbox, cb=on_answer)
        await system.publish("$SYS.REQ.SERVER.PING.VARZ", b"", reply=inbox)
        await asyncio.sleep(ANSWERS_S)
        await subscription.unsubscribe()
    except (NatsError, OSError) as error:
        raise DurabilityUnknown(f"The system account did not answer ({reason_of(error)})") from error
    return found
