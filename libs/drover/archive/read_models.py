"""Finds and drops the read models of a context whose log is restored. They were computed from the earlier log, so they
may have rows that the restored log does not lead to."""

from __future__ import annotations

from typing import Final

import asyncpg

from drover.postgres.pool import Connection
from drover.projection.identifiers import quoted

_POSITION: Final = "SELECT coalesce(max(seq), 0) FROM drover.checkpoints WHERE context = $1"
_SCHEMAS: Final = "SELECT DISTINCT schema FROM drover.checkpoints WHERE context = $1"
_FORGET: Final = (
    "DELETE FROM drover.checkpoints WHERE context = $1",
    "DELETE FROM drover.fold_checkpoints WHERE context = $1",
)
_FORGET_FORM: Final = "DELETE FROM drover.read_models WHERE schema = $1"


async def read_model_position(connection: Connection, context: str) -> int:
    """Return the sequence of the last commit that the read model includes. 0: it includes none, or there are no tables
    yet."""
    try:
        position: int = await connection.fetchval(_POSITION, context)
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
        return 0
    return position


async def forget_read_models(connection: Connection, context: str) -> None:
    """Drop the read models. The projector builds them again from the first commit on."""
    async with connection.transaction():
        for row in await connection.fetch(_SCHEMAS, context):
            await connection.execute(f"DROP SCHEMA IF EXISTS {quoted(row['schema'])} CASCADE")
            await connection.execute(_FORGET_FORM, row["schema"])
        for statement in _FORGET:
            await connection.execute(statement, context)
