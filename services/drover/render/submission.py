"""Submits a job to nexrender exactly once: look for it first, submit while holding the lease, remove it if too late."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import structlog

from drover.domain.errors import DroverError
from drover.domain.render.state import Status
from drover.render.lease import Lease
from drover.render.nexrender.client import RemoteJob
from drover.render.queue import Details, Queue
from drover.render.workshop import Workshop

TAKE_BACK_TRIES: Final = 4
TAKE_BACK_PAUSE_S: Final = 30.0


class Submission:
    def __init__(
        self, queue: Queue, workshop: Workshop, lease: Lease, log: structlog.typing.FilteringBoundLogger
    ) -> None:
        self._queue = queue
        self._workshop = workshop
        self._lease = lease
        self._log = log
        self._unknown: Details | None = None
        """The render whose job nexrender may have although the queue does not know the job. None: there is none."""

    async def find(self, render: Details) -> RemoteJob | None:
        """Find the render's job at nexrender; None if there is none. Call it before submitting: a duplicate uid would
        be rendered again and again."""
        find, name = self._workshop.nexrender.find, render.nexrender_job_id or render.uid
        job = await find(name)
        if job is None and render.run > 1:
            # The previous worker may be submitting the job at this very moment.
            await asyncio.sleep(self._workshop.settle_s)
            job = await find(name)
        return job

    async def submit(self, render: Details, document: Mapping[str, Any]) -> RemoteJob:
        """Submit the job. Once begun, this is awaited even if the run is over: otherwise nobody would know whether
        nexrender has the job."""
        await self._workshop.aside(self._workshop.folders.make, render.uid)
        fence = await self._lease.fence()
        fence()
        self._unknown = render
        posting = asyncio.ensure_future(self._workshop.nexrender.submit(dict(document)))
        try:
            return await asyncio.shield(posting)
        except asyncio.CancelledError:
            posting.add_done_callback(_never_mind)
            try:
                await asyncio.wait({posting})
            finally:
                posting.cancel()
            raise

    def told(self) -> None:
        """Note that the queue knows the job, and that this run still held the render: a later stop will find the
        job."""
        self._unknown = None

    async def take_back(self) -> None:
        """Remove a job that the queue does not know, after this run has lost the render: the stop may have come before
        the job was submitted. A job that the render still needs is left."""
        for number in range(1, TAKE_BACK_TRIES + 1):
            try:
                await self._take_back()
                return
            except DroverError as error:
                self._log.warning("job_not_taken_back", error=str(error), number=number)
                if number < TAKE_BACK_TRIES:
                    await asyncio.sleep(TAKE_BACK_PAUSE_S)

    async def _take_back(self) -> None:
        render = self._unknown
        if render is None:
            return
        now = (await self._queue.standing([render.render_id])).get(render.render_id)
        if now is None or now.uid != render.uid or now.status in (Status.FAILED, Status.CANCELLED):
            await self._workshop.nexrender.remove(render.nexrender_job_id or render.uid)
            await self._workshop.discard(render.uid)
        self._unknown = None


def _never_mind(posting: asyncio.Future[Any]) -> None:
    if not posting.cancelled():
        posting.exception()
