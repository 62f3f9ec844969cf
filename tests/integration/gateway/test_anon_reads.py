"""Deep reads with the key that is in every phone, while others read from the same database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from statistics import median
from typing import Any

import aiohttp
import pytest

from drover.domain.contexts import CONTEXTS
from drover.eventlog.log import Partition
from drover.gateway.read_pools import ReadPools
from drover.gateway.reads import Reads
from drover.postgres.pool import open_pool
from drover.projection.newest import Newest
from drover.projection.positions import Positions
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.auth import Authenticator
from drover.web.callers import Callers
from drover.web.freshness import Freshness
from drover.web.permissions import Permissions
from drover.web.postgrest.read import keep_sealed
from drover.web.serve import serve
from tests.filled.database import filled_database
from tests.filled.lists import id_of

pytestmark = [pytest.mark.req("SE-05"), pytest.mark.slow]
SECRET = "s" * 32
EVENTS, DEVICES = 60_000, 2_000
CONNECTIONS = 8
DEEP = "/rest/v1/jobs?select=*,job_assignments(*,devices(*,job_assignments(*)))"
SHALLOW = "/rest/v1/jobs?select=*,a:job_assignments(*),b:job_assignments(*)"
"""As much as the anon key may ask for."""
OTHERS = f"/rest/v1/jobs?id=eq.{id_of('j', 3)}"
READERS = 8
READS = 400
ROUNDS = 3
PAUSE_S = 0.05
"""Between two reads of one reader. Refusals come at once; without a pause, their number alone would be measured."""


@pytest.fixture(scope="module")
def filled_dsn(background_loop, postgres) -> Iterator[str]:
    with filled_database(background_loop, postgres, events=EVENTS, devices=DEVICES, partitions=2) as dsn:
        yield dsn


class NoPolls:
    async def answer(self, request: Any, principal: Any) -> None:
        return None


class Desk:
    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def read(self, path: str, role: Role) -> int:
        key = issue_api_key(SECRET, role, now_s=time.time())
        async with self._session.get(path, headers={"apikey": key}) as answer:
            await answer.read()
            return answer.status

    async def measure(self) -> list[float]:
        """How long reads of the back office take, in seconds, sorted."""
        took = []
        for _ in range(READS):
            started = time.perf_counter()
            assert await self.read(OTHERS, Role.SERVICE_ROLE) == 200
            took.append(time.perf_counter() - started)
        return sorted(took)

    @asynccontextmanager
    async def readers(self, path: str, role: Role) -> AsyncIterator[list[int]]:
        """Some who read this again and again; the statuses of their answers."""
        statuses: list[int] = []

        async def go_on(nth: int) -> None:
            await asyncio.sleep(PAUSE_S * nth / READERS)  # not all at the same moment, time and again
            while True:
                statuses.append(await self.read(path, role))
                await asyncio.sleep(PAUSE_S)

        tasks = [asyncio.create_task(go_on(nth)) for nth in range(READERS)]
        try:
            yield statuses
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def slow_down(self, path: str, role: Role, percentile: int, rounds: int = ROUNDS) -> tuple[float, set[int]]:
        """By how much the reads of others take longer meanwhile, and how the readers were answered. The median of some
        rounds, because one pause of the machine decides about the slowest reads of a round."""
        at = READS * percentile // 100
        await self.measure()  # fills the caches
        ratios: list[float] = []
        answers: set[int] = set()
        for _ in range(rounds):
            alone = (await self.measure())[at]
            async with self.readers(path, role) as statuses:
                beside = (await self.measure())[at]
            ratios.append(beside / alone)
            answers.update(statuses)
        return median(ratios), answers


@pytest.fixture
async def desk(filled_dsn) -> AsyncIterator[Desk]:
    partitions = [Partition(context) for context in CONTEXTS]
    async with open_pool(filled_dsn, "test", CONNECTIONS) as pool:
        access = Access(Authenticator([SECRET]), Permissions(), Callers())
        reads = Reads(
            access.permissions,
            NoPolls(),
            access.limits,
            ReadPools(pool, CONNECTIONS),
            Freshness(Positions(partitions), Newest(partitions)),
            lambda principal: keep_sealed,
        )
        app = create_application(Health(), body_bytes_max=1024)
        add_handlers(app, [reads], access)
        async with (
            serve(app, "127.0.0.1", 0, grace_s=1) as port,
            aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
        ):
            yield Desk(session)


@pytest.mark.alone
async def test_eight_deep_reads_of_phones_do_not_slow_down_the_others(desk):
    ratio, statuses = await desk.slow_down(DEEP, Role.ANON, 99)
    assert statuses == {400}
    assert ratio < 2


@pytest.mark.alone
async def test_eight_of_the_largest_reads_that_phones_may_do_leave_room_for_the_others(desk):
    """By the median: sending an answer of some megabytes takes a hundredth of a second, which others do wait for."""
    ratio, statuses = await desk.slow_down(SHALLOW, Role.ANON, 50)
    assert statuses <= {200, 400, 503}
    assert ratio < 2


@pytest.mark.alone
@pytest.mark.control
async def test_without_these_limits_eight_deep_reads_slow_down_the_others(desk):
    """The back office may read so; it is trusted not to. One round, which takes 15 s: no pause of the machine lasts as
    long as these reads do."""
    ratio, _ = await desk.slow_down(DEEP, Role.SERVICE_ROLE, 99, rounds=1)
    assert ratio > 2
