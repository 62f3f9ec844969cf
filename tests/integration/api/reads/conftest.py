"""Databases for reads: one that is filled to the size of a farm's after weeks, once for all who only look at it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.filled.database import filled_database
from tests.integration.api.reads.desk import Desk, desk_on

EVENTS = 200_000
DEVICES = 10_000


@pytest.fixture(scope="module")
def filled_dsn(background_loop, postgres) -> Iterator[str]:
    with filled_database(background_loop, postgres, events=EVENTS, devices=DEVICES) as dsn:
        yield dsn


@pytest.fixture
async def filled(filled_dsn) -> AsyncIterator[Desk]:
    async with desk_on(filled_dsn, connections=1) as desk:
        yield desk
