"""A desk for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.unit.api.reads.desk import Desk, desk_with


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with desk_with() as desk:
        yield desk
