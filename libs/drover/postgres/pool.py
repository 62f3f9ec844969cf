"""Opens connections to Postgres, single or pooled, with a limit on every wait. No queries are here.

`json` and `jsonb` stay text in both directions (asyncpg's default). Code that needs the content decodes it once, with
msgspec; code that only forwards it need not decode it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeAlias

import asyncpg

POOL_SIZE_MAX: Final = 10
CONNECT_TIMEOUT_S: Final = 5.0
ACQUIRE_TIMEOUT_S: Final = 2.0
"""Time-out for getting a connection from the pool, in seconds. While all connections hang, further callers fail instead
of waiting in a queue."""
RELEASE_TIMEOUT_S: Final = 1.0
"""Time-out for returning a connection to the pool after a statement was interrupted, in seconds. If the server does not
react to the cancel in this time, the connection is closed."""
STATEMENT_TIMEOUT_S: Final = 25.0
COMMAND_TIMEOUT_S: Final = 30.0
"""Time-out of a statement on our side. It is longer than the server's (STATEMENT_TIMEOUT_S), so that a slow statement
ends with an error and not with a broken connection."""
LOCK_TIMEOUT_S: Final = 20.0
IDLE_IN_TRANSACTION_TIMEOUT_S: Final = 30.0
"""After how many idle seconds the server ends a transaction, so that a process that stalls does not keep its row
locks."""
CLOSE_TIMEOUT_S: Final = 5.0
IDLE_CONNECTION_S: Final = 300.0
STATEMENTS_PER_CONNECTION_MAX: Final = 50_000

_POOLED: Final = {"plan_cache_mode": "force_custom_plan"}
"""Makes PostgreSQL plan each query for its actual values. Otherwise, after five executions it may switch to a generic
plan, which saves planning but may scan a million events for an actor with few."""

Connection: TypeAlias = asyncpg.Connection
Pool: TypeAlias = asyncpg.Pool


def _options(application: str, settings: dict[str, str] | None, command_s: float | None) -> dict[str, Any]:
    return {
        "timeout": CONNECT_TIMEOUT_S,
        "command_timeout": command_s,
        "server_settings": {
            "application_name": application,
            "timezone": "UTC",
            "statement_timeout": _milliseconds(STATEMENT_TIMEOUT_S),
            "lock_timeout": _milliseconds(LOCK_TIMEOUT_S),
            "idle_in_transaction_session_timeout": _milliseconds(IDLE_IN_TRANSACTION_TIMEOUT_S),
            **(settings or {}),
        },
    }


def _milliseconds(seconds: float) -> str:
    return str(int(seconds * 1000))


@asynccontextmanager
async def connect(
    dsn: str,
    application: str,
    settings: dict[str, str] | None = None,
    *,
    command_s: float | None = COMMAND_TIMEOUT_S,
) -> AsyncIterator[Connection]:
    """Open a single connection. After an error in the block it is closed without waiting for the server, which may be
    unreachable.

    `command_s`: the time-out of a statement. None: no time-out, for statements that run for minutes; then raise the
    server's limits in `settings` as well.
    """
    connection = await asyncpg.connect(dsn, **_options(application, settings, command_s))
    try:
        yield connection
        await connection.close(timeout=CLOSE_TIMEOUT_S)
    finally:
        connection.terminate()


class _BoundedPool(asyncpg.Pool):  # type: ignore[misc]  # asyncpg has no types
    """A pool that limits how long getting and returning a connection may take. asyncpg does not limit getting one, and
    its limit for returning one is the time-out of a statement, which is too long."""

    def acquire(self, *, timeout: float | None = None) -> Any:
        return super().acquire(timeout=ACQUIRE_TIMEOUT_S if timeout is None else timeout)

    async def release(self, connection: Connection, *, timeout: float | None = None) -> None:  # noqa: ASYNC109
        await super().release(connection, timeout=RELEASE_TIMEOUT_S if timeout is None else timeout)


@asynccontextmanager
async def open_pool(dsn: str, application: str, size_max: int = POOL_SIZE_MAX) -> AsyncIterator[Pool]:
    """Make a pool. It can be made while no server runs, because it opens connections only when they are used."""
    pool = _BoundedPool(
        dsn,
        min_size=0,
        max_size=size_max,
        max_queries=STATEMENTS_PER_CONNECTION_MAX,
        max_inactive_connection_lifetime=IDLE_CONNECTION_S,
        loop=None,
        connection_class=asyncpg.Connection,
        record_class=asyncpg.Record,
        **_options(application, _POOLED, COMMAND_TIMEOUT_S),
    )
    await pool
    try:
        yield pool
        with suppress(TimeoutError):  # after a time-out `close` is cancelled, and `terminate` cuts the connections
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await pool.close()
    finally:
        pool.terminate()
