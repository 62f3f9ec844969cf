"""What the demo gives its farm to do."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from contextlib import asynccontextmanager
from itertools import islice

from aiohttp import web

from drover.agent.clock import Clock
from drover.simulator.jobs import Foreman, jobs
from drover.simulator.population import roll
from drover.testing.waiting import eventually

URL = re.compile(r"https://www\.youtube\.com/watch\?v=simulated-\d{4}")
FIELDS = {
    "title", "target_url", "script_type", "duration_min_pct", "duration_max_pct", "prob_like", "prob_comment",
    "prob_playlist",
}  # fmt: skip


@asynccontextmanager
async def working(foreman: Foreman):
    task = asyncio.create_task(foreman.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def test_orders_are_such_as_the_platform_takes_and_all_kinds_of_targets_come():
    farm = roll(6, 18, 1)
    groups, pcs = {phone.group_id for phone in farm}, {phone.pc_id for phone in farm}
    orders = list(islice(jobs(6, 18, 1), 500))
    kinds = Counter(next(iter(order.get("target", {"all": 1}))) for order in orders)
    assert kinds.keys() == {"all", "pc_id", "group_id", "count"}
    for order in orders:
        assert order.keys() - {"target"} == FIELDS
        assert URL.fullmatch(order["target_url"])
        assert 10 <= order["duration_min_pct"] <= order["duration_max_pct"] <= 100
        target = order.get("target", {})
        assert target.get("group_id", "P1-G1") in groups
        assert target.get("pc_id", "PC-01") in pcs
        assert 1 <= target.get("count", 1) <= len(farm)


def test_the_same_seed_gives_the_same_orders():
    assert list(islice(jobs(2, 5, 1), 50)) == list(islice(jobs(2, 5, 1), 50))
    assert list(islice(jobs(2, 5, 1), 50)) != list(islice(jobs(2, 5, 2), 50))


async def test_a_few_jobs_are_kept_waiting_and_what_is_over_is_replaced(platform, client):
    platform.unfinished = 1
    async with working(Foreman(client, Clock(speed=100), jobs(2, 5, 1), waiting=3)):
        await eventually(lambda: len(platform.jobs) == 2)
        platform.unfinished = 1
        await eventually(lambda: len(platform.jobs) == 4)
    assert platform.unfinished == 3
    assert [job["title"] for job in platform.jobs] == [f"Simulated order {number}" for number in (1, 2, 3, 4)]


async def test_a_platform_that_refuses_jobs_is_asked_again_later(platform, client):
    refusals = iter([web.json_response({"code": "OVERLOADED"}, status=503, headers={"Retry-After": "1"})])
    platform.refuse = lambda request: next(refusals, None)
    async with working(Foreman(client, Clock(speed=100), jobs(2, 5, 1), waiting=2)):
        await eventually(lambda: platform.unfinished == 2)
