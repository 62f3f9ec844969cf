"""Jobs that the back office makes for a test, phones that do as the test says, and a job that holds all others up."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from itertools import count

from tests.e2e.farmhand import Farmhand, hire, order

VIDEO = "https://www.youtube.com/watch?v=browser"
BEAT_EVERY_S = 5.0
PCT_MAX = 100
holding = count()


async def create(http, title: str, **fields) -> str:
    """A job by the back office; its id."""
    job = {"title": title, "target_url": VIDEO, "duration_min_pct": 90, "duration_max_pct": 100, **fields}
    answer = await http.call("POST", "/rest/v1/jobs", json=job, headers={"Prefer": "return=representation"})
    assert answer.status == 201, answer
    return answer.json[0]["id"]


@asynccontextmanager
async def heard(hand: Farmhand):
    """The phone says that it is there for as long as the block lasts."""

    async def beat() -> None:
        while True:
            await hand.http.beat(hand.serial)
            await asyncio.sleep(BEAT_EVERY_S)

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()


@asynccontextmanager
async def begun(hand: Farmhand):
    """What the phone was offered, and has begun. It does not get done, and it is not taken for lost or stalled."""
    work = await hand.work()
    assert (await hand.report(work, "running")).status == 204

    async def go_on() -> None:
        for pct in range(1, PCT_MAX):  # for eight minutes
            await asyncio.sleep(BEAT_EVERY_S)
            await hand.report(work, "running", progress_pct=pct)

    going_on = asyncio.create_task(go_on())
    try:
        yield work
    finally:
        going_on.cancel()


@asynccontextmanager
async def held_up(http, title: str = "In front"):
    """The id of a job that is active for as long as the block lasts: its phone has begun and does not get done."""
    hand = await hire(http, f"HOLD{next(holding):06d}", pc="PC-HOLDING")
    job = await order(http, hand, title=title)
    async with begun(hand) as work:
        try:
            yield job
        finally:
            await cancel(http, job)
            await hand.complete(work)  # the phone is free again


async def cancel(http, job: str) -> None:
    answer = await http.call("PATCH", f"/rest/v1/jobs?id=eq.{job}", json={"status": "cancelled"})
    assert answer.status in (200, 204, 409), answer  # 409: it has ended by itself
