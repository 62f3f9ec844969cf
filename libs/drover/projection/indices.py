"""Indices of a read model that is rebuilt: they are created after all rows, which is far cheaper than updating them row
by row.

Primary keys and unique indices stay: rows are found by them, and they reject duplicates.
"""

from __future__ import annotations

import re
from typing import Final

from drover.postgres.pool import Connection
from drover.projection.identifiers import quoted
from drover.projection.projection import Projection

MEMORY: Final = "256MB"
"""How much memory PostgreSQL may use to sort the rows of one index."""

_PLAIN: Final = """
SELECT c.relname AS name, pg_get_indexdef(c.oid) AS definition
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.relnamespace = to_regnamespace(quote_ident($1)) AND NOT i.indisunique AND NOT c.relispartition
ORDER BY i.indrelid, c.relname
"""
_NAMED: Final = re.compile(r"^CREATE INDEX (\w+) ", re.MULTILINE)


class _Seen(Exception):
    """Raised to roll a transaction back on purpose."""


async def drop_plain_indices(connection: Connection, schema: str) -> None:
    for index in await connection.fetch(_PLAIN, schema):
        await connection.execute(f"DROP INDEX {quoted(schema)}.{quoted(index['name'])}")


async def has_all_indices(connection: Connection, projection: Projection) -> bool:
    there = {index["name"] for index in await connection.fetch(_PLAIN, projection.schema)}
    return there.issuperset(_NAMED.findall(projection.ddl))


async def make_missing_indices(connection: Connection, projection: Projection) -> int:
    """Create the indices of the projection's DDL that its schema lacks; returns their number."""
    there = {index["name"] for index in await connection.fetch(_PLAIN, projection.schema)}
    missing = {
        name: definition
        for name, definition in (await _definitions(connection, projection)).items()
        if name not in there
    }
    if missing:
        await connection.execute(f"SET maintenance_work_mem = '{MEMORY}'")
    for definition in missing.values():
        await connection.execute(definition)
    return len(missing)


async def _definitions(connection: Connection, projection: Projection) -> dict[str, str]:
    """Read the index definitions as PostgreSQL formats them. They are created in a temporary schema, which is rolled
    back."""
    form = f"{projection.schema}__form"
    found: dict[str, str] = {}
    try:
        async with connection.transaction():
            await connection.execute(f"CREATE SCHEMA {quoted(form)}; SET LOCAL search_path TO {quoted(form)}")
            await connection.execute(projection.ddl)
            for index in await connection.fetch(_PLAIN, form):
                definition = index["definition"].replace(f" ON ONLY {form}.", f" ON {form}.")
                found[index["name"]] = definition.replace(f" ON {form}.", f" ON {projection.schema}.")
            raise _Seen
    except _Seen:
        return found
