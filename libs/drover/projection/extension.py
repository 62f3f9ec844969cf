"""Extends the tables and views of a read model in place: adds nullable columns. Programs that know only the earlier
columns go on beside it, and rows of earlier events have null in the new ones."""

from __future__ import annotations

from typing import Final

import msgspec

from drover.postgres.pool import Connection
from drover.projection.identifiers import quoted
from drover.projection.projection import Projection
from drover.readmodel.form_comparison import view_queries

_COLUMNS: Final = """
SELECT c.relname AS relation, c.relkind IN ('r', 'p') AS is_table, a.attname AS name, a.attnotnull AS not_null,
       format_type(a.atttypid, a.atttypmod) AS type
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = to_regnamespace(quote_ident($1)) AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
ORDER BY c.relname, a.attnum
"""


class _Column(msgspec.Struct, frozen=True):
    type: str
    not_null: bool


class _Relation(msgspec.Struct):
    is_table: bool
    columns: dict[str, _Column] = msgspec.field(default_factory=dict)


class _Seen(Exception):
    """Raised to roll a transaction back on purpose."""


async def extend(connection: Connection, projection: Projection) -> list[str] | None:
    """Add the columns that the schema lacks; return those of tables, as `table.column`. None: adding columns is not
    enough. Needs a transaction whose search path is the schema."""
    wanted = await _declared(connection, projection)
    found = await _read(connection, projection.schema)
    if not all(name in found and _is_extended(found[name], relation) for name, relation in wanted.items()):
        return None
    added: list[str] = []
    for name, relation in wanted.items():
        missing = {column: kind for column, kind in relation.columns.items() if column not in found[name].columns}
        if relation.is_table:
            for column, kind in missing.items():
                await connection.execute(f"ALTER TABLE {quoted(name)} ADD COLUMN {quoted(column)} {kind.type}")
                added.append(f"{name}.{column}")
    queries = view_queries(projection.ddl)
    for name, relation in wanted.items():
        before = found[name].columns
        if not relation.is_table and relation.columns.keys() != before.keys():
            # Existing columns first and in their order: PostgreSQL only lets columns be added at the end.
            columns = ", ".join(map(quoted, [*before, *(c for c in relation.columns if c not in before)]))
            query = f"SELECT {columns} FROM ({queries[name]}) AS extended"  # noqa: S608
            await connection.execute(f"CREATE OR REPLACE VIEW {quoted(name)} AS {query}")
    return added


def _is_extended(before: _Relation, after: _Relation) -> bool:
    """Return whether `after` has all columns of `before`, and otherwise only nullable ones. A program of an earlier
    release may find more columns than it knows; it extends nothing then."""
    same = all(before.columns.get(name, column).type == column.type for name, column in after.columns.items())
    return same and not any(
        column.not_null and name not in before.columns for name, column in after.columns.items() if after.is_table
    )


async def _declared(connection: Connection, projection: Projection) -> dict[str, _Relation]:
    """Read the columns of the declared tables and views from PostgreSQL itself: they are created in a schema that is
    rolled back."""
    schema = f"{projection.schema}__declared"
    declared: dict[str, _Relation] = {}
    try:
        async with connection.transaction():
            await connection.execute(f"CREATE SCHEMA {quoted(schema)}; SET LOCAL search_path TO {quoted(schema)}")
            await connection.execute(projection.ddl)
            declared = await _read(connection, schema)
            raise _Seen
    except _Seen:
        return declared


async def _read(connection: Connection, schema: str) -> dict[str, _Relation]:
    relations: dict[str, _Relation] = {}
    for row in await connection.fetch(_COLUMNS, schema):
        relation = relations.setdefault(row["relation"], _Relation(row["is_table"]))
        relation.columns[row["name"]] = _Column(row["type"], row["not_null"])
    return relations
