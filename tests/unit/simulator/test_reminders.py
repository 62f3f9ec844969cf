"""What the demo's readers do, against a platform that writes it down."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import islice

from drover.agent.clock import Clock
from drover.agent.protocol import Answer
from drover.simulator.reminders import KINDS, PAGES_EACH, Deed, Kind, Readers, deeds
from drover.testing.waiting import eventually

SPEED = 1000


class Platform:
    def __init__(self, status=200):
        self.asked = []
        self.status = status

    async def api(self, method, path, body=None, *, headers=None):
        self.asked.append((method, path.removeprefix("/api/reminder/"), body))
        return Answer(self.status), b"{}"

    @property
    def paths(self):
        return [path for _, path, _ in self.asked]


async def done(kind):
    platform = Platform()
    await Readers(platform, Clock(SPEED), iter(())).do(Deed(kind, "user_demo0001", PAGES_EACH, 5, "Asia/Seoul"))
    return platform


def test_everything_comes_and_the_same_seed_gives_the_same():
    found = Counter(deed.kind for deed in islice(deeds(5, 1), 1000))
    assert found.keys() == KINDS.keys()
    assert list(islice(deeds(5, 1), 50)) == list(islice(deeds(5, 1), 50)) != list(islice(deeds(5, 2), 50))


async def test_each_deed_is_what_an_app_would_ask_for():
    assert (await done(Kind.REGISTER)).paths == ["register-by-page"]
    assert (await done(Kind.DELETE)).paths == ["pages-deleted"]
    assert (await done(Kind.MOVE)).asked == [("PUT", "users/user_demo0001/timezone", {"timezone": "Asia/Seoul"})]
    for kind, is_past in ((Kind.PLAN, False), (Kind.PLAN_TOO_LATE, True)):
        platform = await done(kind)
        assert platform.paths == ["register-by-page", "schedule/v2"]
        time = datetime.fromisoformat(platform.asked[1][2]["next_alarm_time"])
        assert (time < datetime.now(UTC)) is is_past


async def test_two_pages_are_planned_for_the_same_minute():
    platform = await done(Kind.PLAN_TOGETHER)
    plans = [body for _, path, body in platform.asked if path == "schedule/v2"]
    assert len({plan["page_id"] for plan in plans}) == 2
    assert len({plan["next_alarm_time"][:16] for plan in plans}) == 1


@asynccontextmanager
async def reading(platform):
    task = asyncio.create_task(Readers(platform, Clock(SPEED), deeds(5, 1)).run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_they_go_on_whatever_they_are_told():
    for status in (200, 404, 503):
        platform = Platform(status)
        async with reading(platform):
            await eventually(lambda platform=platform: len(platform.asked) > 20)
