"""Creates jobs for the farm, as its back office would, so that a few are always waiting.

The addresses of their videos are made up, and nothing is ever opened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from typing import Any, Final

import structlog

from drover.agent.backoff import AgentBackoff
from drover.agent.clock import Clock
from drover.simulator.http import Client
from drover.simulator.population import GROUP_SIZE, group_id, pc_id

LOOK_EVERY_S: Final = 5.0
JOBS_WAITING_MAX: Final = 50
FORGOTTEN_AFTER: Final = timedelta(minutes=15)
"""Jobs older than this do not count as waiting: they were paused, or their phones are offline."""
VIDEOS_MAX: Final = 9999

# Weights of the kinds of targets. Jobs for all phones make the screens move; small ones keep the queue moving.
TARGETS: Final = {"all": 4, "pc": 2, "group": 3, "count": 3}

log = structlog.stdlib.get_logger(__name__)


def jobs(pcs: int, phones_per_pc: int, seed: int) -> Iterator[dict[str, Any]]:
    """Generate jobs without end. The same arguments give the same jobs."""
    dice = Random(f"{seed} jobs")
    groups = -(-phones_per_pc // GROUP_SIZE)
    for number in count(1):
        (kind,) = dice.choices(list(TARGETS), list(TARGETS.values()))
        least = dice.randrange(30, 61, 10)
        job: dict[str, Any] = {
            "title": f"Simulated order {number}",
            "target_url": f"https://www.youtube.com/watch?v=simulated-{(number - 1) % VIDEOS_MAX + 1:04d}",
            "script_type": dice.choice(["youtube_watch", "youtube_watch", "youtube_shorts"]),
            "duration_min_pct": least,
            "duration_max_pct": min(100, least + dice.randrange(0, 41, 10)),
            "prob_like": dice.randrange(0, 101, 10),
            "prob_comment": dice.randrange(0, 51, 10),
            "prob_playlist": dice.randrange(0, 31, 10),
        }
        pc = dice.randint(1, pcs)
        if kind == "pc":
            job["target"] = {"pc_id": pc_id(pc)}
        elif kind == "group":
            job["target"] = {"group_id": group_id(pc, dice.randint(1, groups))}
        elif kind == "count":
            job["target"] = {"count": dice.randint(1, max(1, pcs * phones_per_pc // 4))}
        yield job


class Foreman:
    """Checks every few seconds whether enough jobs are waiting, and creates the missing ones."""

    def __init__(self, client: Client, clock: Clock, orders: Iterator[dict[str, Any]], *, waiting: int) -> None:
        assert 0 < waiting <= JOBS_WAITING_MAX
        self._client = client
        self._clock = clock
        self._orders = orders
        self._waiting = waiting

    async def run(self) -> None:
        """Create jobs for ever. After a refusal it waits longer and longer; the refused job itself is not retried."""
        backoff = AgentBackoff()
        while True:
            answer, unfinished = await self._client.unfinished_jobs(datetime.now(UTC) - FORGOTTEN_AFTER)
            for _ in range(self._waiting - unfinished):
                if answer.ok:
                    answer = await self._client.create("jobs", next(self._orders))
            pause_s = backoff.pause_after(answer, self._clock.now())
            if not answer.ok:
                log.warning("no_job_created", status=answer.status, code=answer.code, again_in_s=pause_s)
            await asyncio.sleep(self._clock.real_s(pause_s or LOOK_EVERY_S))
