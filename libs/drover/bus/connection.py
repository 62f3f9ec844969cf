"""One way to connect to NATS, with the settings that bite set right."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError

from drover.domain.errors import DroverError

CONNECT_TIMEOUT_S: Final = 2
CONNECT_TRIES_MAX: Final = 15
RECONNECT_PAUSE_S: Final = 0.25
PING_INTERVAL_S: Final = 5
PINGS_OUTSTANDING_MAX: Final = 2
CLOSED_LOOK_EVERY_S: Final = 1.0

log = structlog.get_logger("drover.bus")


class NatsUnreachable(DroverError):
    """No NATS server answered: check DROVER_NATS_URL and that the server runs."""


@asynccontextmanager
async def connected(url: str, name: str) -> AsyncIterator[Client]:
    """A connection that mends itself for ever, and that never sends later what could not be sent now."""

    async def on_error(error: Exception) -> None:
        log.warning("nats_error", error=repr(error))

    async def on_disconnect() -> None:
        if not client.is_closed:  # closing on purpose is no news
            log.warning("nats_disconnected")

    async def on_reconnect() -> None:
        log.info("nats_reconnected")

    client = Client()
    try:
        await client.connect(
            servers=[part.strip() for part in url.split(",")],
            name=name,
            connect_timeout=CONNECT_TIMEOUT_S,
            # During the first connection a bounded number of tries; afterwards without end (below).
            max_reconnect_attempts=CONNECT_TRIES_MAX,
            reconnect_time_wait=RECONNECT_PAUSE_S,  # type: ignore[arg-type]  # fractions work
            ping_interval=PING_INTERVAL_S,
            max_outstanding_pings=PINGS_OUTSTANDING_MAX,
            # Publishes made while disconnected fail at once instead of being replayed when nobody expects them.
            pending_size=-1,
            error_cb=on_error,
            disconnected_cb=on_disconnect,
            reconnected_cb=on_reconnect,
        )
    except (NatsError, OSError, TimeoutError) as error:
        raise NatsUnreachable(f"{_without_password(url)}: {error!r}") from error
    client.options["max_reconnect_attempts"] = -1
    try:
        yield client
    finally:
        with suppress(NatsError, OSError, TimeoutError):
            await client.close()


async def wait_closed(client: Client) -> None:
    """Raise once the client has closed for good: it does so on some errors of the server, and does not come back."""
    while not client.is_closed:  # noqa: ASYNC110 - nats-py has one callback, and it is not ours alone
        await asyncio.sleep(CLOSED_LOOK_EVERY_S)
    raise NatsUnreachable(f"the connection was closed for good: {client.last_error!r}")


def _without_password(url: str) -> str:
    return ",".join(part.rpartition("@")[2] for part in url.split(","))
