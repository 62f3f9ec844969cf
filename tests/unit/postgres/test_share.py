"""A share of a pool: few connections, short statements, few who wait."""

from __future__ import annotations

import asyncio

import pytest

from drover.postgres.share import PoolShare, ShareBusy, StatementTooSlow
from drover.testing.waiting import eventually

pytestmark = pytest.mark.req("SE-05")


class Pool:
    """Answers when the test says so."""

    def __init__(self) -> None:
        self.busy = 0
        self.timeouts = []
        self.go = asyncio.Event()

    async def fetchrow(self, query, *args, timeout=None):  # noqa: ASYNC109
        self.timeouts.append(timeout)
        self.busy += 1
        try:
            async with asyncio.timeout(timeout):
                await self.go.wait()
            return (query, *args)
        finally:
            self.busy -= 1


def share(pool: Pool, **options) -> PoolShare:
    return PoolShare(pool, **({"connections": 2, "statement_s": 10.0, "wait_s": 10.0} | options))


async def test_no_more_than_its_connections_are_used_at_once():
    pool = Pool()
    shared = share(pool)
    reads = [asyncio.create_task(shared.fetchrow("SELECT", number)) for number in range(8)]
    await eventually(lambda: pool.busy == 2)
    await asyncio.sleep(0)
    assert pool.busy == 2
    pool.go.set()
    assert await asyncio.gather(*reads) == [("SELECT", number) for number in range(8)]


async def test_who_waits_too_long_is_told_so_and_takes_no_turn():
    pool = Pool()
    shared = share(pool, connections=1, wait_s=0.01)
    first = asyncio.create_task(shared.fetchrow("SELECT"))
    await eventually(lambda: pool.busy == 1)
    with pytest.raises(ShareBusy):
        await shared.fetchrow("SELECT")
    pool.go.set()
    await first
    await shared.fetchrow("SELECT")


async def test_those_who_wait_are_few():
    pool = Pool()
    shared = share(pool, connections=1, waiting_max=1)
    reads = [asyncio.create_task(shared.fetchrow("SELECT")) for _ in range(2)]
    await eventually(lambda: pool.busy == 1)
    with pytest.raises(ShareBusy):
        await shared.fetchrow("SELECT")
    pool.go.set()
    await asyncio.gather(*reads)


async def test_a_slow_statement_is_ended_and_frees_its_connection():
    pool = Pool()
    shared = share(pool, connections=1, statement_s=0.01)
    with pytest.raises(StatementTooSlow):
        await shared.fetchrow("SELECT", timeout=5.0)
    assert pool.timeouts == [0.01], "whatever the reader would wait"
    pool.go.set()
    await shared.fetchrow("SELECT")
