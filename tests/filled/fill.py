"""Makes the schemas of all read models and fills them: so many events, so many devices, the rest in proportion."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import asyncpg

from drover.postgres.migrate import migrate
from drover.projection.read_model import ensure_read_model
from drover.projection.table_partitions import add_partition
from drover.projector.app import PROJECTIONS
from drover.readmodel.form import placed

SQL: Final = placed((Path(__file__).parent / "fill.sql").read_text(encoding="utf-8"))
STATEMENT_S: Final = 600.0
INDICES: Final = """
SELECT i.indexrelid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS definition
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
WHERE c.relnamespace::regnamespace::text LIKE 'rm\\_%' AND NOT i.indisprimary
  AND NOT c.relispartition
"""
"""Made anew when the rows are there: so it takes a tenth of the time."""
EVENTS_PER_ASSIGNMENT: Final = 12


PARTITIONS: Final = 20
"""Of the fleet's tables of events: a thousand million rows in reality, before somebody detaches the first ones."""
SPARE_COMMITS: Final = 10_000


async def fill(dsn: str, *, events: int, devices: int, partitions: int = PARTITIONS) -> None:
    """`events`: of the fleet; other contexts have a tenth of that each. So it is with `partitions`."""
    await migrate(dsn)
    connection = await asyncpg.connect(dsn, command_timeout=STATEMENT_S)
    try:
        for projection in PROJECTIONS:
            await ensure_read_model(connection, projection)
            share = 1 if projection.context == "fleet" else 10
            count = max(1, partitions // share)
            width = -(-(events // share + SPARE_COMMITS) // count)
            for number in range(count):
                await add_partition(connection, projection, number * width, (number + 1) * width)
        numbers = {
            "devices": devices,
            "assignments": events // EVENTS_PER_ASSIGNMENT,
            "others": events // 10,
            "renders": events // 50,
            "tests": events // 20,
        }
        for name, number in numbers.items():
            await connection.execute("SELECT set_config($1, $2, FALSE)", f"fill.{name}", str(number))
        await connection.execute("SET synchronous_commit = off; SET maintenance_work_mem = '256MB'")
        indices = await connection.fetch(INDICES)
        for index in indices:
            await connection.execute(f"DROP INDEX {index['name']}")
        for statement in SQL.split(";\n"):
            if statement.strip():
                await connection.execute(statement)
        for index in indices:
            await connection.execute(index["definition"].replace(" ON ONLY ", " ON "))
        await connection.execute("VACUUM ANALYZE")  # as autovacuum leaves them
    finally:
        await connection.close()
