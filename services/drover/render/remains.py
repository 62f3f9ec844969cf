"""What a run that was taken away may have left behind, where nobody else would look for it.

Whoever stops a cancelled render may have been there before our file, or our job at nexrender, was.
"""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from drover.domain.errors import DroverError
from drover.domain.render.state import Status
from drover.render.delivery import withdraw
from drover.render.holding import FENCE_S
from drover.render.nas.store import TooLate
from drover.render.queue import Details, Queue, Standing
from drover.render.workshop import Workshop

TRIES: Final = 4
PAUSE_S: Final = 30.0


class Remains:
    def __init__(self, queue: Queue, workshop: Workshop, log: structlog.typing.FilteringBoundLogger) -> None:
        self._queue = queue
        self._workshop = workshop
        self._log = log
        self._job: Details | None = None
        self._file: Details | None = None

    def submitting(self, render: Details) -> None:
        self._job = render

    def submitted(self) -> None:
        """The queue knows, and it was still ours: whoever has to stop it later will find it."""
        self._job = None

    def delivering(self, render: Details) -> None:
        self._file = render

    async def clear(self) -> None:
        """When the run is over and was not completed. What cannot be cleared is left, and said."""
        for number in range(1, TRIES + 1):
            try:
                await self._clear_job()
                await self._clear_file()
                return
            except DroverError as error:
                self._log.warning("remains_not_cleared", error=str(error), number=number)
                if number < TRIES:
                    await asyncio.sleep(0.0 if isinstance(error, TooLate) else PAUSE_S)

    async def _clear_job(self) -> None:
        render = self._job
        if render is None:
            return
        now = await self._standing(render)
        if now is None or now.uid != render.uid or now.status in (Status.FAILED, Status.CANCELLED):
            await self._workshop.nexrender.remove(render.nexrender_job_id or render.uid)
            await self._workshop.discard(render.uid)
        self._job = None

    async def _clear_file(self) -> None:
        render = self._file
        if render is None:
            return
        asked_at = self._workshop.elapsed()
        now = await self._standing(render)
        # Of the same job: as long as it is the one that was cancelled, no later run can have a file of that name.
        if now is not None and now.status is Status.CANCELLED and now.uid == render.uid:
            await withdraw(self._workshop.nas, render, fence=self._workshop.fence(asked_at + FENCE_S))
        self._file = None

    async def _standing(self, render: Details) -> Standing | None:
        return (await self._queue.standing([render.render_id])).get(render.render_id)
