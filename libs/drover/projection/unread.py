"""Dropping a schema that was put aside, as soon as nobody can be reading it any more, and not before."""

from __future__ import annotations

import asyncio
from typing import Final

import asyncpg
import structlog

from drover.postgres.pool import Connection
from drover.projection.read_model import quoted

READS_END_S: Final = 10.0
"""Transactions that are older than the swap may know the old tables, and are given this long. One that looks at them
holds a lock, and is waited for."""
LOOK_EVERY_S: Final = 0.05
LOCK_MS: Final = 200
"""No longer than this may the drop stand in line: whoever came after it would stand behind it."""
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
    """False: somebody still reads it. It is in nobody's way, and the next rebuild drops it."""
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
            log.warning("old_read_model_left", schema=schema, why="somebody still reads it")
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
