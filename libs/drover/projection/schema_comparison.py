"""Compares two schemas of one read model row by row, inside PostgreSQL: only differences leave the database."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from drover.postgres.pool import Connection
from drover.projection.difference import Comparison, Table, TableReport
from drover.projection.identifiers import quoted

ROWS_AT_ONCE: Final = 1_000


def _different(wanted: str, found: str, table: Table) -> str:
    """Make the query for rows that differ, with all columns of both sides."""
    first, *_ = key = [quoted(column) for column in table.key]
    same = " AND ".join(f"w.{column} = f.{column}" for column in key)
    left, right = (", ".join(f"{side}.{quoted(column)}" for column in table.columns) for side in "wf")
    return (
        f"SELECT w.{first} IS NOT NULL, f.{first} IS NOT NULL, {left}, {right} "  # noqa: S608
        f"FROM {_name(wanted, table)} w FULL JOIN {_name(found, table)} f ON {same} "
        f"WHERE w.{first} IS NULL OR f.{first} IS NULL OR ({left}) IS DISTINCT FROM ({right})"
    )


def _name(schema: str, table: Table) -> str:
    return f"{quoted(schema)}.{quoted(table.name)}"


async def compare_schemas(
    connection: Connection, wanted: str, found: str, table: Table, added: Collection[str] = ()
) -> TableReport:
    """Compare a table in two schemas; `wanted` is the one that was rebuilt from the log. Needs a transaction, so that
    neither side changes meanwhile. `added`: columns of `found` that were added in place."""
    comparison = Comparison(table, added)
    width, extra = len(table.columns), 0
    async for record in connection.cursor(_different(wanted, found, table), prefetch=ROWS_AT_ONCE):
        is_wanted, is_found, *values = record
        left, right = tuple(values[:width]), tuple(values[width:])
        key = table.record_key_of(left if is_wanted else right)
        comparison.compare(key, left if is_wanted else None, right if is_found else None)
        extra += not is_wanted
    report = comparison.report
    report.rows = extra + await connection.fetchval(f"SELECT count(*) FROM {_name(wanted, table)}")  # noqa: S608
    return report
