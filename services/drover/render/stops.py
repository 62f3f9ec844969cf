"""The reactor of stops: jobs at nexrender that must not go on are removed there, and their files discarded."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from drover.domain.errors import DroverError
from drover.domain.render.policy import STOP_CLAIM
from drover.nas.store import NasAway
from drover.render.delivery import withdraw
from drover.render.lease import FENCE_S
from drover.render.nexrender.errors import NexrenderError
from drover.render.queue import Queue, QueueAway, Stop
from drover.render.workshop import Workshop

CLAIM_S: Final = STOP_CLAIM.total_seconds() - 10.0
"""Of the claim's own time. Later, another worker may have stopped it, and an operator have run it again."""
SETTLED_S: Final = FENCE_S + 1.0
"""After a claim. Whoever had the render when it was cancelled has published its file by then, or will not any more."""
AT_ONCE_MAX: Final = 16

log = structlog.get_logger("drover.render")


class Stops:
    """Each try of a stop counts, and there are not many: none is claimed while it could not be carried out."""

    def __init__(self, queue: Queue, workshop: Workshop) -> None:
        self._queue = queue
        self._workshop = workshop
        self._nas_away = False

    async def carry_out(self) -> int:
        """Everything that is owed and can be had now. What fails stays owed, and is claimed again later."""
        done = 0
        while True:
            try:
                await self._can_be_had()
            except (NexrenderError, NasAway) as error:
                log.info("stops_wait", error=str(error))
                return done
            some = await self._claim()
            done += sum(await asyncio.gather(*(self._carry_out(stop, asked_at) for stop, asked_at in some)))
            if len(some) < AT_ONCE_MAX:
                return done

    async def _can_be_had(self) -> None:
        await self._workshop.nexrender.health()
        if self._nas_away:
            await self._workshop.nas.free_bytes()
            self._nas_away = False

    async def _claim(self) -> list[tuple[Stop, float]]:
        """Some, and when each was asked for."""
        claimed: list[tuple[Stop, float]] = []
        while len(claimed) < AT_ONCE_MAX:
            asked_at = self._workshop.elapsed()
            try:
                stop = await self._queue.claim_stop()
            except QueueAway:
                if not claimed:
                    raise
                break
            if stop is None:
                break
            claimed.append((stop, asked_at))
        return claimed

    async def _carry_out(self, stop: Stop, asked_at: float) -> bool:
        """Whether it is done. Whatever goes wrong, other stops are not to blame."""
        try:
            async with asyncio.timeout(CLAIM_S):
                await self._stop(stop, asked_at)
                await self._queue.stopped(stop)
        except Exception as error:
            log.warning("stop_failed", job=stop.render_id, uid=stop.uid, error=str(error) or repr(error))
            self._nas_away = self._nas_away or isinstance(error, NasAway)
            return False
        log.info("stopped", job=stop.render_id, uid=stop.uid, discarded=stop.discard)
        return True

    async def _stop(self, stop: Stop, asked_at: float) -> None:
        """All of it, even if nexrender will not: there are servers that remove no jobs."""
        refused: DroverError | None = None
        try:
            await self._workshop.nexrender.remove(stop.nexrender_job_id or stop.uid)
        except DroverError as error:
            refused = error
        if stop.discard:
            await asyncio.sleep(max(0.0, asked_at + SETTLED_S - self._workshop.elapsed()))
            await withdraw(self._workshop.nas, stop, fence=self._workshop.fence(asked_at + CLAIM_S))
        await self._workshop.discard(stop.uid)
        if refused is not None:
            raise refused
