"""A render in the hands of one worker: its lease is renewed, and that it is lost is noticed.

What the queue said is old by the time that it is acted upon. Where that matters, a `Fence` says whether it is too old.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import structlog

from drover.domain.render.policy import RENEWALS_PER_LEASE
from drover.domain.render.state import WORKING
from drover.nas.store import Fence
from drover.render.queue import QUEUE_AWAY_PAUSE_S, Claimed, Overtaken, Queue, patiently
from drover.render.workshop import Workshop

FENCE_S: Final = 5.0
"""So long an answer of the queue may be relied on: nobody claims, renders and delivers what we have lost in less."""


class Lease:
    def __init__(
        self,
        queue: Queue,
        workshop: Workshop,
        claimed: Claimed,
        asked_at: float,
        log: structlog.typing.FilteringBoundLogger,
    ) -> None:
        self._queue = queue
        self._workshop = workshop
        self._claimed = claimed
        self._log = log
        self._held_until = asked_at + claimed.lease_s
        self._look = asyncio.Event()
        self.last_word = asyncio.Lock()
        """Held while a report is on its way that may end the run: then its answer says how it ended, and not that
        the render is in nobody's hands any more."""

    def look(self) -> None:
        """Something happened in the queue that may concern this render."""
        self._look.set()

    async def guard(self) -> None:
        """Renew the lease in time, and look at once when something may have happened. Ends by raising Overtaken."""
        while True:
            try:
                await self._guard()
            except Overtaken:
                if not self.last_word.locked():
                    raise
                async with self.last_word:
                    self._look.set()  # the run goes on: then it was another who took the render

    async def _guard(self) -> None:
        """However often there is something to look at: the lease is renewed when it is due."""
        elapsed, every_s = self._workshop.elapsed, self._claimed.lease_s / RENEWALS_PER_LEASE
        while True:
            due_s = self._held_until - self._claimed.lease_s + every_s - elapsed()
            if due_s <= 0:
                await patiently(self._renew, self._log)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(due_s):
                    await self._look.wait()
            if self._look.is_set():
                self._look.clear()
                await patiently(self.still_ours, self._log)

    async def _renew(self) -> None:
        asked_at = self._workshop.elapsed()
        await self._queue.renew(self._claimed)
        self._held_until = asked_at + self._claimed.lease_s

    async def still_ours(self) -> None:
        """Raises Overtaken."""
        claimed = self._claimed
        standing = (await self._queue.standing([claimed.render_id])).get(claimed.render_id)
        if standing is None:
            raise Overtaken(claimed.render_id, claimed.run, None, None)
        if standing.run != claimed.run or standing.status not in WORKING:
            raise Overtaken(claimed.render_id, claimed.run, standing.status, standing.run)

    async def fence(self) -> Fence:
        """It is ours, and what is done before this fence closes is done by the one who has it. Raises Overtaken."""
        elapsed = self._workshop.elapsed
        while True:
            asked_at = elapsed()
            await patiently(self.still_ours, self._log)
            if self._held_until < asked_at + FENCE_S:
                await patiently(self._renew, self._log)
            if elapsed() < asked_at + FENCE_S / 2:
                return self._workshop.fence(min(asked_at + FENCE_S, self._held_until))
            self._log.warning("queue_slow", seconds=round(elapsed() - asked_at, 1))
            await asyncio.sleep(QUEUE_AWAY_PAUSE_S)
