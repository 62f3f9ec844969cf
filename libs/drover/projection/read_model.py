"""Creates the schema of a projection, and extends it if only columns were added. Each form of a read model has a schema
of its own, so that an older and a newer program do not disturb each other."""

from __future__ import annotations

from typing import Any, Final

import structlog

from drover.postgres.pool import Connection
from drover.projection.checkpoint import forget_checkpoints
from drover.projection.extension import extend
from drover.projection.identifiers import quoted
from drover.projection.projection import Projection

UNUSED_S: Final = 300.0
"""A form that nobody has used for this many seconds counts as not caught up. The log may have grown by hours of work
since then, for example if a newer release ran and was rolled back."""

_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('drover.read_model:' || $1, 0))"
_FORM: Final = "SELECT hash, version FROM drover.read_models WHERE schema = $1"
_EXISTS: Final = "SELECT to_regnamespace(quote_ident($1)) IS NOT NULL"
_RECORD: Final = """
INSERT INTO drover.read_models (schema, hash, version) VALUES ($1, $2, $3)
ON CONFLICT (schema) DO UPDATE
SET hash = excluded.hash, version = excluded.version, created_at = now(), used_at = now(), added = '{}'
"""
_EXTEND: Final = "UPDATE drover.read_models SET hash = $2, version = $3, added = added || $4::text[] WHERE schema = $1"
_DOUBT: Final = """
UPDATE drover.checkpoints SET caught_up_at = NULL
WHERE schema = $1
  AND (SELECT used_at < now() - make_interval(secs => $2) FROM drover.read_models WHERE schema = $1)
"""
_ADDED: Final = "SELECT added FROM drover.read_models WHERE schema = $1"
_USE: Final = "UPDATE drover.read_models SET used_at = now() WHERE schema = ANY ($1::text[])"

log = structlog.get_logger("drover.projection")


async def ensure_read_model(connection: Connection, projection: Projection) -> bool:
    """Make sure that the schema has the tables that this program writes. Return True if it was created now and is
    empty."""
    schema = projection.schema
    async with connection.transaction():
        await connection.execute(_LOCK, schema)
        form = await connection.fetchrow(_FORM, schema)
        exists = await connection.fetchval(_EXISTS, schema)
        if exists and form is not None and await _is_usable(connection, projection, form):
            await connection.execute(_DOUBT, schema, UNUSED_S)
            await note_use(connection, [schema])
            return False
        if exists:
            log.warning(
                "read_model_dropped",
                schema=schema,
                why="its tables are not those of this program; it is rebuilt from the log",
                had=form["hash"] if form else None,
                wants=projection.hash,
            )
            await connection.execute(f"DROP SCHEMA {quoted(schema)} CASCADE")
        await forget_checkpoints(connection, schema)
        await connection.execute(f"CREATE SCHEMA {quoted(schema)}; SET LOCAL search_path TO {quoted(schema)}")
        await connection.execute(projection.ddl)
        await connection.execute(_RECORD, schema, projection.hash, projection.version)
    log.info("read_model_created", schema=schema)
    return True


async def _is_usable(connection: Connection, projection: Projection, form: Any) -> bool:
    """Return whether the schema has at least the tables and columns of this program, after adding columns if needed."""
    if form["hash"] == projection.hash or form["version"] > projection.version:
        return True  # a newer program has only added columns, otherwise the schema would have another name
    await connection.execute(f"SET LOCAL search_path TO {quoted(projection.schema)}")
    added = await extend(connection, projection)
    if added is None:
        return False
    await connection.execute(_EXTEND, projection.schema, projection.hash, projection.version, added)
    log.info("read_model_extended", schema=projection.schema, columns=added)
    return True


async def note_use(connection: Any, schemas: list[str]) -> None:
    """Say that this program uses the schemas, so that nobody drops them."""
    await connection.execute(_USE, schemas)


async def added_columns(connection: Connection, schema: str) -> frozenset[str]:
    """Return the columns (`table.column`) that were added in place: they are null in rows of earlier events."""
    return frozenset(await connection.fetchval(_ADDED, schema) or ())
