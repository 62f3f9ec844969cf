"""Jobs that the back office makes for a test, and one that holds all others up."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from itertools import count

from tests.e2e.farmhand import hire, order

VIDEO = "https://www.youtube.com/watch?v=browser"
BEAT_EVERY_S = 5.0
holding = count()


async def create(http, title: str, **fields) -> str:
    """A job by the back office; its id."""
    job = {"title": title, "target_url": VIDEO, "duration_min_pct": 90, "duration_max_pct": 100, **fields}
    answer = await http.call("POST", "/rest/v1/jobs", json=job, headers={"Prefer": "return=representation"})
    assert answer.status == 201, answer
    return answer.json[0]["id"]


@asynccontextmanager
async def held_up(http, title: str = "In front"):
    """The id of a job that is active for as long as the block lasts: its phone has begun and does not get on."""
    hand = await hire(http, f"HOLD{next(holding):06d}", pc="PC-HOLDING")
    job = await order(http, hand, title=title)
    work = await hand.work()
    assert (await hand.report(work, "running")).status == 204

    async def beat() -> None:
        while True:
            await hand.http.beat(hand.serial)
            await asyncio.sleep(BEAT_EVERY_S)

    beating = asyncio.create_task(beat())
    try:
        yield job
    finally:
        beating.cancel()
        await cancel(http, job)
        await hand.complete(work)  # the phone is free again


async def cancel(http, job: str) -> None:
    answer = await http.call("PATCH", f"/rest/v1/jobs?id=eq.{job}", json={"status": "cancelled"})
    assert answer.status in (200, 204, 409), answer  # 409: it has ended by itself
