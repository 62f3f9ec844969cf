"""A worker's lease of a render: renews it, and notices when it is lost.

An answer of the queue may be out of date by the time we act on it. Where that matters, a `Fence` checks its age.
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
"""For how many seconds a worker may rely on the queue's answer that it holds a render: if the render is lost meanwhile,
no other worker can claim, render and deliver it faster than that."""


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
        """Locked while a report that may end the run is in flight: its answer says how the run ended, so the guard must
        not report a lost lease meanwhile."""

    def look(self) -> None:
        """Let the guard check at once whether this run still holds the render: a commit may have changed that."""
        self._look.set()

    async def guard(self) -> None:
        """Renew the lease in time, and check the render at once after `look`. Never returns: raises Overtaken when this
        run no longer holds the render."""
        while True:
            try:
                await self._guard()
            except Overtaken:
                if not self.last_word.locked():
                    raise
                async with self.last_word:
                    self._look.set()  # the run goes on, so the report did not end it: check again

    async def _guard(self) -> None:
        """Renew the lease when it is due, and check the render after `look`. Many checks do not delay a renewal."""
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
        """Raises Overtaken if this run no longer holds the render."""
        claimed = self._claimed
        standing = (await self._queue.standing([claimed.render_id])).get(claimed.render_id)
        if standing is None:
            raise Overtaken(claimed.render_id, claimed.run, None, None)
        if standing.run != claimed.run or standing.status not in WORKING:
            raise Overtaken(claimed.render_id, claimed.run, standing.status, standing.run)

    async def fence(self) -> Fence:
        """Return a fence that closes before another worker could deliver the render. Raises Overtaken if this run no
        longer holds it."""
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
