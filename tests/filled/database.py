"""A database of its own with filled read models, for tests that only look at it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from uuid import uuid4

import asyncpg

from tests.filled.fill import fill

FILLED_WITHIN_S: Final = 900.0


@contextmanager
def filled_database(background_loop: Any, postgres: Any, **sizes: int) -> Iterator[str]:
    """Yields its DSN. `sizes`: those of `fill`."""
    name = f"filled_{uuid4().hex}"

    async def execute(statement: str) -> None:
        connection = await asyncpg.connect(postgres.dsn)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    background_loop.run(execute(f"CREATE DATABASE {name} TEMPLATE template0"))
    dsn = postgres.dsn_of(name)
    background_loop.run(fill(dsn, **sizes), FILLED_WITHIN_S)
    yield dsn
    background_loop.run(execute(f"DROP DATABASE {name} WITH (FORCE)"))
