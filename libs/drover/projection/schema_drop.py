"""Drops the old schema after a swap, once no transaction can be reading it any more."""

from __future__ import annotations

import asyncio
from typing import Final

import asyncpg
import structlog

from drover.postgres.pool import Connection
from drover.projection.identifiers import quoted

READS_END_S: Final = 10.0
"""How long to wait for transactions that began before the swap, because they may still use the old tables. A
transaction that has read them holds a lock, and the drop fails until that is free."""
LOOK_EVERY_S: Final = 0.05
LOCK_MS: Final = 200
"""How long one try to drop may wait for its lock: readers that come later would queue behind it."""
DROP_S: Final = 60.0

_EXISTS: Final = "SELECT to_regnamespace(quote_ident($1)) IS NOT NULL"
_NOW: Final = "SELECT clock_timestamp()"
_OLDER: Final = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
  AND xact_start < $1
"""

log = structlog.get_logger("drover.projection")


async def drop_when_unread(connection: Connection, schema: str) -> bool:
    """Drop the schema once nobody reads it. Return False if it is still read after a minute. This does no harm; the
    next rebuild drops it."""
    if not await connection.fetchval(_EXISTS, schema):
        return True
    loop = asyncio.get_running_loop()
    aside_at, began = await connection.fetchval(_NOW), loop.time()
    while True:
        elapsed_s = loop.time() - began
        patient = elapsed_s < READS_END_S
        if not (patient and await connection.fetchval(_OLDER, aside_at)) and await _drop(connection, schema):
            return True
        if elapsed_s > DROP_S:
            log.warning("old_read_model_left", schema=schema, why="it is still being read")
            return False
        await asyncio.sleep(LOOK_EVERY_S)


async def _drop(connection: Connection, schema: str) -> bool:
    try:
        async with connection.transaction():
            await connection.execute(f"SET LOCAL lock_timeout = {LOCK_MS}")
            await connection.execute(f"DROP SCHEMA IF EXISTS {quoted(schema)} CASCADE")
    except asyncpg.LockNotAvailableError:
        return False
    return True
