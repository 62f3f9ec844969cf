"""Creates the schema of a projection. If the declared tables have changed, it drops the old schema first: all rows can
be made again from the log."""

from __future__ import annotations

from typing import Final

import structlog

from drover.postgres.pool import Connection
from drover.projection.checkpoint import forget_checkpoints
from drover.projection.errors import ReadModelNewer
from drover.projection.projection import Projection

_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('drover.read_model:' || $1, 0))"
_FORM: Final = "SELECT hash, version FROM drover.read_models WHERE schema = $1"
_EXISTS: Final = "SELECT to_regnamespace(quote_ident($1)) IS NOT NULL"
_RECORD: Final = """
INSERT INTO drover.read_models (schema, hash, version) VALUES ($1, $2, $3)
ON CONFLICT (schema) DO UPDATE SET hash = excluded.hash, version = excluded.version, created_at = now()
"""

log = structlog.get_logger("drover.projection")


def quoted(identifier: str) -> str:
    """Quote an identifier for SQL. Only for our own identifiers, never for a client's."""
    return '"' + identifier.replace('"', '""') + '"'


async def ensure_read_model(connection: Connection, projection: Projection) -> bool:
    """Make sure that the schema has the tables that this program writes. Return True if it was created now and is
    empty."""
    schema = projection.schema
    async with connection.transaction():
        await connection.execute(_LOCK, schema)
        form = await connection.fetchrow(_FORM, schema)
        recorded = form["hash"] if form else None
        exists = await connection.fetchval(_EXISTS, schema)
        if exists and recorded == projection.hash:
            return False
        if exists and form and form["version"] > projection.version:
            # Otherwise old and new programs would drop each other's tables for ever during a rolling deployment.
            raise ReadModelNewer(schema, form["version"], projection.version)
        if exists:
            log.warning(
                "read_model_dropped",
                schema=schema,
                why="its form differs from this program's; it is rebuilt from the log",
                had=recorded,
                wants=projection.hash,
            )
            await connection.execute(f"DROP SCHEMA {quoted(schema)} CASCADE")
        await forget_checkpoints(connection, schema)
        await connection.execute(f"CREATE SCHEMA {quoted(schema)}; SET LOCAL search_path TO {quoted(schema)}")
        await connection.execute(projection.ddl)
        await connection.execute(_RECORD, schema, projection.hash, projection.version)
    log.info("read_model_created", schema=schema)
    return True
