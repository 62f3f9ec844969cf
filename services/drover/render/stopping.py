"""The reactor of stops: jobs at nexrender that must not go on are removed there, and their files discarded."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from drover.domain.errors import DroverError
from drover.domain.render.policy import STOP_CLAIM
from drover.render.delivery import withdraw
from drover.render.nas.store import Fence, NasAway
from drover.render.nexrender.errors import NexrenderDown
from drover.render.queue import Queue, Stop
from drover.render.workshop import Workshop

CLAIM_S: Final = STOP_CLAIM.total_seconds() - 10.0
"""Of the claim's own time. Later, another worker may have stopped it, and an operator have run it again."""

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
        await self._workshop.nexrender.health()
        if self._nas_away:
            await self._workshop.nas.free_bytes()
            self._nas_away = False
        while True:
            asked_at = self._workshop.elapsed()
            stop = await self._queue.claim_stop()
            if stop is None:
                return done
            try:
                async with asyncio.timeout(CLAIM_S):
                    await self._stop(stop, self._workshop.fence(asked_at + CLAIM_S))
            except Exception as error:  # whatever it is, the other stops are not to blame
                log.warning("stop_failed", job=stop.render_id, uid=stop.uid, error=str(error) or repr(error))
                self._nas_away = isinstance(error, NasAway)
                if isinstance(error, NasAway | NexrenderDown):
                    return done  # so would all others
                continue
            await self._queue.stopped(stop)
            log.info("stopped", job=stop.render_id, uid=stop.uid, discarded=stop.discard)
            done += 1

    async def _stop(self, stop: Stop, fence: Fence) -> None:
        """All of it, even if nexrender will not: there are servers that remove no jobs."""
        refused: DroverError | None = None
        try:
            await self._workshop.nexrender.remove(stop.nexrender_job_id or stop.uid)
        except DroverError as error:
            refused = error
        if stop.discard:
            await withdraw(self._workshop.nas, stop, fence=fence)
        await self._workshop.discard(stop.uid)
        if refused is not None:
            raise refused
