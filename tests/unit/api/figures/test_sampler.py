"""The farm's minutes: measured a few times a minute, kept in one row, forgotten after a month."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from drover.api.figures.measuring import Measuring
from drover.api.figures.sampler import KEPT_DAYS, SAMPLES_BETWEEN_CLEANINGS, Sample, Sampler
from drover.api.reads.database import ReadModels
from drover.api.reads.system import Partitions
from drover.testing.waiting import eventually
from tests.unit.api.reads.desk import FakePool, Row

pytestmark = pytest.mark.req("EV-05")


class Pool:
    def __init__(self) -> None:
        self.done: list[tuple[str, tuple[Any, ...]]] = []
        self.faults: list[Exception] = []

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str:  # noqa: ASYNC109
        self.done.append((query, args))
        if self.faults:
            raise self.faults.pop()
        return "INSERT 0 1"

    @property
    def kept(self) -> list[tuple[Any, ...]]:
        return [args for query, args in self.done if "INSERT" in query]


async def measured() -> Sample:
    return Sample({"online": 5, "error": 1}, 0.25)


async def test_a_measurement_is_phones_by_status_and_the_largest_lag_in_milliseconds():
    pool = Pool()
    await Sampler(pool, measured).keep()
    assert pool.kept == [(5, 0, 0, 1, 250)]


async def test_old_minutes_are_forgotten_at_the_start_and_then_once_an_hour():
    pool = Pool()
    sampler = Sampler(pool, measured)
    for _ in range(SAMPLES_BETWEEN_CLEANINGS + 1):
        await sampler.keep()
    assert [args for query, args in pool.done if "DELETE" in query] == [(KEPT_DAYS,), (KEPT_DAYS,)]


async def test_while_postgres_is_away_nothing_is_kept_and_measuring_goes_on():
    pool = Pool()
    pool.faults = [ConnectionRefusedError(), asyncpg.TooManyConnectionsError()]
    async with Sampler(pool, measured, every_s=0.001).running():
        await eventually(lambda: len(pool.kept) >= 3, 10)


async def test_a_lag_that_nobody_can_tell_is_none_and_not_zero():
    class Unknown:
        async def partitions(self) -> Partitions:
            return Partitions([], "unreachable", "connected")

    pool = FakePool()
    pool.rows = {"device_status": [Row(state="busy", count=7)]}
    sample = await Measuring(ReadModels(pool), Unknown()).measure()
    assert sample == Sample({"busy": 7}, None)
