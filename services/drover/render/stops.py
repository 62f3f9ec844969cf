"""Carries out stops. A stop is a nexrender job that the queue wants removed; its files are removed after it."""

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
"""How many seconds to work on a claimed stop. Later, another worker may have carried it out, and an operator may have
run the render again."""
SETTLED_S: Final = FENCE_S + 1.0
"""Minimum of seconds from the claim of a stop to the removal of the render's file on the NAS. By then the render's
worker has either published the file, or can no longer do so."""
AT_ONCE_MAX: Final = 16

log = structlog.get_logger("drover.render")


class Stops:
    """Claims stops and carries them out. The tries of a stop are limited, so none is claimed while nexrender or the NAS
    is unreachable."""

    def __init__(self, queue: Queue, workshop: Workshop) -> None:
        self._queue = queue
        self._workshop = workshop
        self._nas_away = False

    async def carry_out(self) -> int:
        """Carry out all open stops that are possible now. Failed ones stay open and are claimed again later."""
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
        """Claim some stops. Returns each with the time just before its claim was sent."""
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
        """Carry out one stop. Returns whether that succeeded. A failure does not affect other stops."""
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
        """Remove the job and its files. Do all steps even if nexrender refuses: some servers cannot remove jobs."""
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
