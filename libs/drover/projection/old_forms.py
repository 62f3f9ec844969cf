"""Drops the schemas of other forms of a read model that no program has used for a day. Until then a program of an
earlier release finds its tables again and only has to catch up."""

from __future__ import annotations

from typing import Final

import asyncpg
import structlog

from drover.postgres.pool import Connection
from drover.projection.checkpoint import forget_checkpoints
from drover.projection.identifiers import quoted
from drover.projection.projection import Projection

KEPT_S: Final = 86_400.0
"""How long a form is kept after its last use."""
LOCK_MS: Final = 200

_UNUSED: Final = """
SELECT m.schema FROM drover.read_models m
WHERE m.schema <> $1 AND m.schema ~ $2
  AND greatest(m.used_at, (SELECT max(c.updated_at) FROM drover.checkpoints c WHERE c.schema = m.schema))
      < now() - make_interval(secs => $3)
"""
# Earlier releases do not write `used_at`. They move their checkpoint and hold a lock for each partition, so both count
# as use.
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('drover.read_model:' || $1, 0))"
_FREE: Final = """
SELECT coalesce(bool_and(
  pg_try_advisory_xact_lock(hashtextextended('drover.projection:' || schema || '/' || partition, 0))
), TRUE)
FROM drover.checkpoints WHERE schema = $1
"""
_FORGET: Final = "DELETE FROM drover.read_models WHERE schema = $1"

log = structlog.get_logger("drover.projection")


async def drop_unused_forms(connection: Connection, projection: Projection, kept_s: float = KEPT_S) -> list[str]:
    """Drop the unused forms of this read model, and return their schemas. One that somebody still reads is left for the
    next time."""
    # The pattern matches neither shadows of rebuilds nor schemas of other programs.
    pattern = f"^rm_{projection.context}(_[0-9a-f]{{8}})?$"
    dropped: list[str] = []
    for row in await connection.fetch(_UNUSED, projection.schema, pattern, kept_s):
        schema = row["schema"]
        try:
            async with connection.transaction():
                await connection.execute(f"SET LOCAL lock_timeout = {LOCK_MS}")
                await connection.execute(_LOCK, schema)
                unused = {row["schema"] for row in await connection.fetch(_UNUSED, projection.schema, pattern, kept_s)}
                if schema not in unused or not await connection.fetchval(_FREE, schema):
                    continue
                await connection.execute(f"DROP SCHEMA IF EXISTS {quoted(schema)} CASCADE")
                await forget_checkpoints(connection, schema)
                await connection.execute(_FORGET, schema)
        except (asyncpg.LockNotAvailableError, asyncpg.InsufficientPrivilegeError) as error:
            log.warning("old_form_left", schema=schema, why=str(error))
        else:
            log.info("old_form_dropped", schema=schema)
            dropped.append(schema)
    return dropped
