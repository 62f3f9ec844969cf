"""Simulated users who start analyses (tests), and a simulated worker that completes them, fails them, or reports late
or never.

Nothing is analysed. The users are made up. Their tier has a time-out of less than a minute, so that cleanups happen
during a demo.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from enum import StrEnum
from itertools import count
from random import Random
from typing import Any, Final, NamedTuple

import msgspec
import structlog

from drover.agent.clock import Clock
from drover.service.tasks import end
from drover.simulator.http import Client

USERS_MAX: Final = 1000
TIER: Final = "demo"
TIER_TIMEOUT_S: Final = 45
"""The time-out in seconds for analyses of the demo's users."""
TESTS_EACH: Final = 20
GRANTED: Final = 10
START_EVERY_S: Final = 4.0
UNDER_WAY_MAX: Final = 200
"""Maximum of running tests; beyond it, no more are started."""
CLEAN_EVERY_S: Final = 60.0
NO_TESTS_LEFT: Final = 402

log = structlog.stdlib.get_logger(__name__)


class Fate(StrEnum):
    COMPLETED = "completed"
    FAILED = "failed"
    FORGOTTEN = "forgotten"
    """The worker crashed and never reports: a cleanup must find the test."""
    LATE = "late"
    """The worker reports long after a cleanup has refunded the test."""


FATES: Final = {Fate.COMPLETED: 14, Fate.FAILED: 3, Fate.FORGOTTEN: 2, Fate.LATE: 1}
"""How often each fate occurs, as relative weights."""
OPENING: Final = (Fate.FORGOTTEN, Fate.COMPLETED, Fate.FAILED)
"""The fates of the first tests, so that each is seen soon."""
ERRORS: Final = (("PROVIDER_OVERLOADED", "The model is overloaded"), ("EMPTY_ANSWER", "The model gave no answer"))


class Wish(NamedTuple):
    """A test to start, and its fate."""

    user_id: str
    fate: Fate
    lasts_s: float
    error: tuple[str, str]


class _Started(msgspec.Struct):
    id: str


def user_ids(users: int) -> list[str]:
    return [f"user_demo{number:04d}" for number in range(1, users + 1)]


def wishes(users: int, seed: int) -> Iterator[Wish]:
    """Generate tests without end. The same arguments give the same tests."""
    dice = Random(f"{seed} analyses")
    known = user_ids(users)
    for number in count():
        (fate,) = OPENING[number : number + 1] or dice.choices(list(FATES), list(FATES.values()))
        lasts_s = dice.uniform(5, 40)
        if fate is Fate.LATE:
            lasts_s = CLEAN_EVERY_S + TIER_TIMEOUT_S + dice.uniform(30, 60)
        yield Wish(dice.choice(known), fate, lasts_s, dice.choice(ERRORS))


class Tellers:
    """Acts as the demo's users, worker and cron job."""

    def __init__(self, client: Client, clock: Clock, wanted: Iterator[Wish], *, users: int, cron_secret: str) -> None:
        assert 0 < users <= USERS_MAX
        self._client = client
        self._clock = clock
        self._wanted = wanted
        self._users = users
        self._cron_secret = cron_secret
        self._under_way: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Start and end tests for ever. A refused request is not retried: the next one comes soon."""
        for user_id in user_ids(self._users):
            row = {"user_id": user_id, "remaining_tests": TESTS_EACH, "tier": TIER}
            await self._client.api("POST", "/api/saju/users", row)  # 409 after a restart: it exists already
        cleaning = asyncio.create_task(self._keep_cleaning())
        try:
            while True:
                if len(self._under_way) < UNDER_WAY_MAX:
                    await self._start(next(self._wanted))
                await asyncio.sleep(self._clock.real_s(START_EVERY_S))
        finally:
            await end(cleaning, *self._under_way)

    async def _start(self, wish: Wish) -> None:
        answer, body = await self._client.api("POST", "/api/saju/tests", {"user_id": wish.user_id})
        if answer.status == NO_TESTS_LEFT:
            await self._client.api("PATCH", f"/api/saju/users/{wish.user_id}", {"grant_tests": GRANTED})
        elif not answer.ok:
            log.warning("no_test_started", status=answer.status, user_id=wish.user_id)
        elif wish.fate is not Fate.FORGOTTEN:
            task = asyncio.create_task(self._end(msgspec.json.decode(body, type=_Started).id, wish))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def _end(self, test_id: str, wish: Wish) -> None:
        await asyncio.sleep(self._clock.real_s(wish.lasts_s))
        path = f"/api/saju/tests/{test_id}"
        if wish.fate is Fate.FAILED:
            code, message = wish.error
            await self._client.api("POST", f"{path}/fail", {"error_code": code, "error_message": message})
        else:
            await self._client.api("POST", f"{path}/complete", {"result_ref": f"simulated/{test_id}"})

    async def _keep_cleaning(self) -> None:
        headers: dict[str, Any] = {"X-Cron-Secret": self._cron_secret}
        while True:
            await asyncio.sleep(self._clock.real_s(CLEAN_EVERY_S))
            answer, _ = await self._client.api("POST", "/api/system/cleanup-tests", headers=headers)
            if not answer.ok:
                log.warning("no_cleanup", status=answer.status)
