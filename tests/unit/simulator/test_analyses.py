"""What the demo's people and their worker do, against a platform that writes it down."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from itertools import islice, repeat

import msgspec

from drover.agent.clock import Clock
from drover.agent.protocol import Answer
from drover.simulator.analyses import (
    CLEAN_EVERY_S,
    FATES,
    OPENING,
    TIER,
    TIER_TIMEOUT_S,
    Fate,
    Tellers,
    Wish,
    user_ids,
    wishes,
)
from drover.testing.waiting import eventually

SECRET = "the-secret-of-the-demo"
SPEED = 1000


class Platform:
    """As far as the demo asks it."""

    def __init__(self, tests_left=100):
        self.asked = []
        self.left = tests_left

    async def api(self, method, path, body=None, *, headers=None):
        self.asked.append((method, path, body, headers))
        if path == "/api/saju/tests":
            if self.left == 0:
                return Answer(402), b'{"error":"NO_TESTS_LEFT"}'
            self.left -= 1
            return Answer(201), msgspec.json.encode({"id": f"t{len(self.asked)}", "status": "processing"})
        if method == "PATCH":
            self.left += body["grant_tests"]
        return Answer(200), b"{}"

    def count(self, ending):
        return sum(path.endswith(ending) for _, path, _, _ in self.asked)


@asynccontextmanager
async def telling(platform, wish, users=2):
    tellers = Tellers(platform, Clock(SPEED), repeat(wish), users=users, cron_secret=SECRET)
    task = asyncio.create_task(tellers.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def wish(fate):
    return Wish("user_demo0001", fate, 5.0, ("E", "no"))


def test_all_fates_come_as_often_as_they_should_and_the_same_seed_gives_the_same():
    found = Counter(one.fate for one in islice(wishes(12, 1), 2000))
    assert found.keys() == FATES.keys()
    assert found[Fate.COMPLETED] > found[Fate.FAILED] > found[Fate.LATE] > 0
    assert list(islice(wishes(12, 1), 50)) == list(islice(wishes(12, 1), 50))
    assert {one.user_id for one in islice(wishes(3, 1), 200)} == {*user_ids(3)}


async def test_people_are_registered_without_a_name_and_tests_are_completed():
    platform = Platform()
    async with telling(platform, wish(Fate.COMPLETED)):
        await eventually(lambda: platform.count("/complete") >= 2)
    assert [body for _, path, body, _ in platform.asked if path == "/api/saju/users"] == [
        {"user_id": user, "remaining_tests": 20, "tier": TIER} for user in user_ids(2)
    ]
    assert platform.count("/fail") == 0


async def test_some_fail():
    platform = Platform()
    async with telling(platform, wish(Fate.FAILED)):
        await eventually(lambda: platform.count("/fail"))
    told = next(body for _, path, body, _ in platform.asked if path.endswith("/fail"))
    assert told == {"error_code": "E", "error_message": "no"}


async def test_some_are_forgotten_and_a_cron_job_cleans_up():
    platform = Platform()
    async with telling(platform, wish(Fate.FORGOTTEN)):
        await eventually(lambda: platform.count("/cleanup-tests"))
    assert platform.count("/complete") == platform.count("/fail") == 0
    (headers,) = {headers["X-Cron-Secret"] for _, path, _, headers in platform.asked if path.endswith("/cleanup-tests")}
    assert headers == SECRET


async def test_who_has_none_left_is_granted_some():
    platform = Platform(tests_left=1)
    async with telling(platform, wish(Fate.FORGOTTEN)):
        await eventually(lambda: platform.count("/api/saju/tests") > 4)
    assert ("PATCH", "/api/saju/users/user_demo0001", {"grant_tests": 10}, None) in platform.asked


def test_each_fate_is_seen_soon():
    assert [wish.fate for wish in islice(wishes(12, 1), len(OPENING))] == list(OPENING)
    assert set(OPENING) == set(FATES) - {Fate.LATE}
    # The first cleanup finds the test that was forgotten at the start, and no test that is merely slow.
    assert TIER_TIMEOUT_S + 10 < CLEAN_EVERY_S
    lasting = [wish.lasts_s for wish in islice(wishes(12, 1), 500) if wish.fate in (Fate.COMPLETED, Fate.FAILED)]
    assert max(lasting) < TIER_TIMEOUT_S
