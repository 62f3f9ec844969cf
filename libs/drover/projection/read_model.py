"""Makes the schema of a projection. A schema of another form is dropped: it is derived data, the log has everything."""

from __future__ import annotations

from typing import Final

import structlog

from drover.postgres.pool import Connection
from drover.projection.checkpoint import forget_checkpoints
from drover.projection.projection import Projection

_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('drover.read_model:' || $1, 0))"
_HASH: Final = "SELECT hash FROM drover.read_models WHERE schema = $1"
_EXISTS: Final = "SELECT to_regnamespace(quote_ident($1)) IS NOT NULL"
_RECORD: Final = """
INSERT INTO drover.read_models (schema, hash) VALUES ($1, $2)
ON CONFLICT (schema) DO UPDATE SET hash = excluded.hash, created_at = now()
"""

log = structlog.get_logger("drover.projection")


def quoted(identifier: str) -> str:
    """An identifier of ours (never of a client) as SQL wants it."""
    return '"' + identifier.replace('"', '""') + '"'


async def ensure_read_model(connection: Connection, projection: Projection) -> bool:
    """Have the schema in the form that this program folds into. True when it was made now and is empty."""
    schema = projection.schema
    async with connection.transaction():
        await connection.execute(_LOCK, schema)
        recorded = await connection.fetchval(_HASH, schema)
        exists = await connection.fetchval(_EXISTS, schema)
        if exists and recorded == projection.hash:
            return False
        if exists:
            log.warning(
                "read_model_dropped",
                schema=schema,
                why="its form differs from this program's; it is folded anew from the log",
                had=recorded,
                wants=projection.hash,
            )
            await connection.execute(f"DROP SCHEMA {quoted(schema)} CASCADE")
        await forget_checkpoints(connection, schema)
        await connection.execute(f"CREATE SCHEMA {quoted(schema)}; SET LOCAL search_path TO {quoted(schema)}")
        await connection.execute(projection.ddl)
        await connection.execute(_RECORD, schema, projection.hash)
    log.info("read_model_created", schema=schema)
    return True
