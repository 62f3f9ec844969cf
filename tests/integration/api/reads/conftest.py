"""Databases for reads: one that is filled to the size of a farm's after weeks, once for all who only look at it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import asyncpg
import pytest

from tests.filled.fill import fill
from tests.integration.api.reads.desk import Desk, desk_on

EVENTS = 200_000
DEVICES = 10_000
FILLED_WITHIN_S = 900.0


@pytest.fixture(scope="module")
def filled_dsn(background_loop, postgres) -> Iterator[str]:
    name = f"filled_{uuid4().hex}"

    async def execute(statement: str) -> None:
        connection = await asyncpg.connect(postgres.dsn)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    background_loop.run(execute(f"CREATE DATABASE {name} TEMPLATE template0"))
    dsn = postgres.dsn_of(name)
    background_loop.run(fill(dsn, events=EVENTS, devices=DEVICES), FILLED_WITHIN_S)
    yield dsn
    background_loop.run(execute(f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture
async def filled(filled_dsn) -> AsyncIterator[Desk]:
    async with desk_on(filled_dsn, connections=1) as desk:
        yield desk
