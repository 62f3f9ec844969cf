"""A worker: one After Effects licence, one render at a time. It claims a render, works, and claims the next."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Final, Protocol

import structlog

from drover.domain.errors import DroverError
from drover.domain.render.policy import Fault
from drover.domain.render.polling import Pace
from drover.render.metrics import JOB_DURATION, JOBS_ENDED
from drover.render.queue import Claimed, Overtaken, Queue, Refused
from drover.render.run import Run
from drover.render.workshop import Workshop

FAULT_PAUSE_S: Final = 5.0
"""Pause after an unexpected error, so that the worker does not spin."""
HAND_BACK_S: Final = 3.0
NAMESAKE_PAUSE_S: Final = 30.0
SILENT_S: Final = 60.0
"""An idle worker is unhealthy if the queue has not answered for its poll interval plus this many seconds."""

log = structlog.get_logger("drover.render")


class Nudged(Protocol):
    """The part of `drover.render.nudges.Nudges` that a worker needs."""

    def ticket(self) -> asyncio.Event: ...

    async def for_work(self, ticket: asyncio.Event, timeout_s: float) -> None: ...


class Telemetry(Protocol):
    """The part of `drover.bus.telemetry.TelemetryOut` that a worker needs."""

    def beat(self, device_id: str, seen_at: datetime, reported: dict[str, object] | None) -> None: ...


class Worker:
    def __init__(
        self, queue: Queue, workshop: Workshop, nudges: Nudged, telemetry: Telemetry, pace: Pace | None = None
    ) -> None:
        self.queue = queue
        self._workshop = workshop
        self._nudges = nudges
        self._telemetry = telemetry
        self._pace = pace or Pace()
        self._started_at = workshop.elapsed()
        self._polled_at: float | None = None
        self.last_poll: datetime | None = None
        self.completed = 0
        self.run: Run | None = None
        self._progress = 0

    @property
    def worker_id(self) -> str:
        return self.queue.worker_id

    @property
    def uptime_s(self) -> float:
        return self._workshop.elapsed() - self._started_at

    @property
    def health(self) -> str:
        """`healthy`, `starting` or `unhealthy`. Healthy: it works on a render, or the queue has answered it
        recently."""
        if self.run is not None:
            return "healthy"
        if self._polled_at is None:
            return "starting" if self.uptime_s < SILENT_S else "unhealthy"
        return "healthy" if self._workshop.elapsed() - self._polled_at < SILENT_S + self._pace.idle_s else "unhealthy"

    def look(self) -> None:
        if self.run is not None:
            self.run.look()

    def beat(self) -> None:
        """Send a sign of life, busy or idle."""
        claimed = None if self.run is None else self.run.claimed
        reported: dict[str, object] = {
            "render_id": None if claimed is None else claimed.render_id,
            "run": None if claimed is None else claimed.run,
            "progress": self._progress,
        }
        self._telemetry.beat(self.worker_id, self._workshop.now(), reported)

    async def work(self) -> None:
        """Work for ever, whatever happens. On cancellation it hands its render back, for another worker to continue."""
        while True:
            try:
                await self._turn()
            except DroverError as error:
                log.warning("poll_failed", worker=self.worker_id, error=str(error))
                await asyncio.sleep(FAULT_PAUSE_S)
            except Exception:
                log.exception("worker_fault", worker=self.worker_id)
                await asyncio.sleep(FAULT_PAUSE_S)

    async def _turn(self) -> None:
        news = self._nudges.ticket()  # taken before it asks, so that work that arrives meanwhile is not missed
        asked_at = self._workshop.elapsed()
        claimed = await self.queue.claim()
        self._polled_at, self.last_poll = self._workshop.elapsed(), self._workshop.now()
        log.debug("polled", worker=self.worker_id, job=None if claimed is None else claimed.render_id)
        wait_s = self._pace.poll(claimed is not None)
        if claimed is None:
            await self._nudges.for_work(news, wait_s)
        else:
            await self._work_on(claimed, asked_at)

    async def _work_on(self, claimed: Claimed, asked_at: float) -> None:
        log.debug("job_claimed", worker=self.worker_id, job=claimed.render_id, run=claimed.run)
        if claimed.resumed:
            log.warning("resuming", worker=self.worker_id, job=claimed.render_id, run=claimed.run)
        self.run = run = Run(self.queue, self._workshop, claimed, self._note, asked_at=asked_at)
        try:
            self.beat()
            completed = await run.work()
        except asyncio.CancelledError:
            await self._hand_back(run)
            raise
        except Exception as error:  # a defect of this program must not make it claim the same render for ever
            log.exception("worker_fault", worker=self.worker_id, job=claimed.render_id)
            await self._give_up(claimed, error)
        else:
            JOBS_ENDED.labels("completed" if completed else "over").inc()
            if completed:
                self.completed += 1
                since_claim_s = self._workshop.elapsed() - asked_at
                JOB_DURATION.observe(since_claim_s if run.duration_s is None else run.duration_s)
        finally:
            self.run, self._progress = None, 0
        if run.overtaken is not None:
            await self._leave_it_to_a_namesake(claimed)

    def _note(self, progress: int) -> None:
        self._progress = progress
        self.beat()

    async def _hand_back(self, run: Run) -> None:
        claimed = run.claimed
        try:
            async with asyncio.timeout(HAND_BACK_S):
                try:
                    await self.queue.hand_back(claimed)
                except Overtaken:
                    await run.submission.take_back()
                    raise
        except (DroverError, TimeoutError) as error:
            log.warning("not_handed_back", worker=self.worker_id, job=claimed.render_id, error=str(error))

    async def _give_up(self, claimed: Claimed, error: Exception) -> None:
        try:
            await self.queue.fault(claimed, Fault.RENDER_ERROR, f"Unexpected error in the worker: {error!r}")
        except DroverError as refused:
            log.warning("fault_not_reported", worker=self.worker_id, job=claimed.render_id, error=str(refused))
        await asyncio.sleep(FAULT_PAUSE_S)

    async def _leave_it_to_a_namesake(self, claimed: Claimed) -> None:
        """Wait while another process with this worker's name holds the render. Claiming the render again would take it
        back, and so on: neither process would ever finish."""
        while True:
            try:
                now = await self.queue.details(claimed.render_id)
            except Refused:
                return
            if now.run == claimed.run or now.worker_id != self.worker_id:
                return
            log.error("name_is_taken", worker=self.worker_id, job=claimed.render_id, run=now.run)
            await asyncio.sleep(NAMESAKE_PAUSE_S)
