"""Connects to NATS with the options that Drover needs."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final
from urllib.parse import unquote, urlsplit

import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError

from drover.bus.quick_headers import QuickClient
from drover.domain.errors import DroverError
from drover.service.reasons import reason_of

CONNECT_TIMEOUT_S: Final = 2
CONNECT_TRIES_MAX: Final = 15
RECONNECT_PAUSE_S: Final = 0.25
PING_INTERVAL_S: Final = 2
PINGS_OUTSTANDING_MAX: Final = 2
"""How many pings a server may leave unanswered. Then the connection to it is dropped, 4 to 6 s after the server began
to hang. So the process uses another server of the cluster before a lease expires (10 s)."""
CLOSED_LOOK_EVERY_S: Final = 1.0
INBOX: Final = "_INBOX"
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]+")

log = structlog.get_logger("drover.bus")


class NatsUnreachable(DroverError):
    """No NATS server accepted the connection."""

    def __init__(self, address: str, reason: str, setting: str) -> None:
        if "authorization" in reason.lower():  # nats-py has no class for this error
            message = f"NATS at {address} refused the user ({reason}). Check user and password in {setting}."
        else:
            message = f"NATS does not answer at {address} ({reason}). "
            message += f"Check that the server runs there, and the address in {setting}."
        super().__init__(message)
        self.address = address
        self.reason = reason


class NatsClosed(DroverError):
    """The connection to NATS was closed for good."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The connection to NATS was closed for good ({reason}). Restart this process.")
        self.reason = reason


@asynccontextmanager
async def connected(url: str, name: str, *, setting: str = "DROVER_NATS_URL") -> AsyncIterator[Client]:
    """Open a connection that reconnects for ever. Publishing while it is disconnected fails; the message is not sent
    later.

    `setting`: the name of the setting that holds this address, for error messages.
    """
    trouble: Exception | None = None
    is_first = True

    async def on_error(error: Exception) -> None:
        nonlocal trouble
        # If the user is refused, some tries only report that the connection was reset. So prefer the reason of another
        # try.
        if trouble is None or not isinstance(error, ConnectionError):
            trouble = error
        log.warning("nats_error", error=reason_of(error))
        if is_first and isinstance(error, ssl.SSLError):
            raise error  # nats-py would wait for ever until the connection is closed, whose TLS never began

    async def on_disconnect() -> None:
        if not client.is_closed:  # it was not closed on purpose
            log.warning("nats_disconnected")

    async def on_reconnect() -> None:
        log.info("nats_reconnected")

    servers = [part.strip() for part in url.split(",")]
    user, password = _user_of(servers)
    client = QuickClient()
    try:
        await client.connect(
            servers=servers,
            user=user,
            password=password,
            name=name,
            inbox_prefix=inbox_of(user),
            connect_timeout=CONNECT_TIMEOUT_S,
            # A bounded number of tries for the first connection; unlimited afterwards (below).
            max_reconnect_attempts=CONNECT_TRIES_MAX,
            reconnect_time_wait=RECONNECT_PAUSE_S,  # type: ignore[arg-type]  # fractions work
            ping_interval=PING_INTERVAL_S,
            max_outstanding_pings=PINGS_OUTSTANDING_MAX,
            # Publishes fail at once while disconnected, instead of being replayed at an unexpected time.
            pending_size=-1,
            error_cb=on_error,
            disconnected_cb=on_disconnect,
            reconnected_cb=on_reconnect,
        )
    except (NatsError, OSError, TimeoutError) as error:
        # nats-py ends with "no servers available"; the useful reason is in the error that it reported before.
        raise NatsUnreachable(_without_password(url), reason_of(trouble or error), setting) from error
    is_first = False
    client.options["max_reconnect_attempts"] = -1
    try:
        yield client
    finally:
        await close(client)


async def close(client: Client) -> None:
    """Close a client, also one that is reconnecting."""
    try:
        with suppress(NatsError, OSError, TimeoutError):
            await client.close()
    except asyncio.CancelledError:
        # While it closes, nats-py cancels its task that reconnects. If both wait for the same connection to end,
        # asyncio cancels the wait itself, and we seem to be cancelled, too.
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise


async def wait_closed(client: Client) -> None:
    """Wait until the client has closed for good, then raise NatsClosed. nats-py closes it after some server errors,
    without reconnecting."""
    while not client.is_closed:  # noqa: ASYNC110 - nats-py has one callback, and it is not ours alone
        await asyncio.sleep(CLOSED_LOOK_EVERY_S)
    raise NatsClosed(reason_of(client.last_error) if client.last_error else "no reason was given")


def _user_of(servers: list[str]) -> tuple[str | None, str | None]:
    """Return user and password of these servers. They are passed to nats-py apart from the addresses, so that they also
    apply to servers that the cluster announces later. Percent-escapes such as %40 are decoded here, because nats-py
    would send them as they are."""
    users = {(parts.username, parts.password) for parts in map(urlsplit, servers) if parts.username is not None}
    if len(users) != 1:
        return None, None
    ((user, password),) = users
    return (unquote(user), unquote(password)) if user and password else (None, None)


def inbox_of(user: str | None) -> str:
    """Return the prefix of this user's reply subjects. Permissions by prefix keep other users from reading its
    replies."""
    return f"{INBOX}.{user}" if user and _TOKEN.fullmatch(user) else INBOX


def _without_password(url: str) -> str:
    return ",".join(part.rpartition("@")[2].rpartition("//")[2] for part in url.split(","))
