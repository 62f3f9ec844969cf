"""One way to connect to NATS, with the settings that bite set right."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final
from urllib.parse import unquote, urlsplit

import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError

from drover.domain.errors import DroverError
from drover.service.reasons import reason_of

CONNECT_TIMEOUT_S: Final = 2
CONNECT_TRIES_MAX: Final = 15
RECONNECT_PAUSE_S: Final = 0.25
PING_INTERVAL_S: Final = 2
PINGS_OUTSTANDING_MAX: Final = 2
"""A server that hangs with its sockets open is left after 4 to 6 s: others of the cluster may answer, and a lease that
is not renewed lapses after 10 s."""
CLOSED_LOOK_EVERY_S: Final = 1.0
INBOX: Final = "_INBOX"
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]+")

log = structlog.get_logger("drover.bus")


class NatsUnreachable(DroverError):
    """No NATS server took the connection."""

    def __init__(self, address: str, reason: str, setting: str) -> None:
        if "authorization" in reason.lower():  # nats-py has no class for it: the server's own words tell
            said = f"NATS at {address} refused the user ({reason}). Check user and password in {setting}."
        else:
            said = f"NATS does not answer at {address} ({reason}). "
            said += f"Check that the server runs there, and the address in {setting}."
        super().__init__(said)
        self.address = address
        self.reason = reason


class NatsClosed(DroverError):
    """The connection to NATS was closed for good."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The connection to NATS was closed for good ({reason}). Restart this process.")
        self.reason = reason


@asynccontextmanager
async def connected(url: str, name: str, *, setting: str = "DROVER_NATS_URL") -> AsyncIterator[Client]:
    """A connection that mends itself for ever, and that never sends later what could not be sent now.

    `setting`: where people write this address.
    """
    trouble: Exception | None = None

    async def on_error(error: Exception) -> None:
        nonlocal trouble
        trouble = error
        log.warning("nats_error", error=reason_of(error))

    async def on_disconnect() -> None:
        if not client.is_closed:  # closing on purpose is no news
            log.warning("nats_disconnected")

    async def on_reconnect() -> None:
        log.info("nats_reconnected")

    servers = [part.strip() for part in url.split(",")]
    user, password = _user_of(servers)
    client = Client()
    try:
        await client.connect(
            servers=servers,
            user=user,
            password=password,
            name=name,
            inbox_prefix=inbox_of(user),
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
        # nats-py ends with "no servers available"; why each of them was not is what it told before.
        raise NatsUnreachable(_without_password(url), reason_of(trouble or error), setting) from error
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
    raise NatsClosed(reason_of(client.last_error) if client.last_error else "no reason was given")


def _user_of(servers: list[str]) -> tuple[str | None, str | None]:
    """The user of all these servers. Said apart from the addresses, it also holds for those that a cluster names.

    Signs that mean something in an address are written as %40 and the like; nats-py would send them as they stand.
    """
    users = {(parts.username, parts.password) for parts in map(urlsplit, servers) if parts.username is not None}
    if len(users) != 1:
        return None, None
    ((user, password),) = users
    return (unquote(user), unquote(password)) if user and password else (None, None)


def inbox_of(user: str | None) -> str:
    """Where answers to this user go: to a place of its own, so that permissions can keep all others from reading it."""
    return f"{INBOX}.{user}" if user and _TOKEN.fullmatch(user) else INBOX


def _without_password(url: str) -> str:
    return ",".join(part.rpartition("@")[2].rpartition("//")[2] for part in url.split(","))
