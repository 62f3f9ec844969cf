"""All workers of one process, and what they share: stops, the sweep, heartbeats."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

import structlog
from nats.aio.client import Client

from drover.bus.messages import Bus
from drover.domain.errors import DroverError
from drover.domain.render.polling import Pace
from drover.render.nudges import Nudges
from drover.render.queue import Queue
from drover.render.stops import Stops
from drover.render.sweeper import SWEEP_EVERY_S, sweep
from drover.render.worker import HAND_BACK_S, Telemetry, Worker
from drover.render.workshop import Workshop
from drover.service.tasks import end

BEAT_EVERY_S: Final = 10.0
DEMANDS_EVERY_S: Final = 1.0
"""Minimum of seconds between two polls on demand (`POST /health/poll`)."""
STOPS_EVERY_S: Final = 30.0
"""Maximum of seconds between two checks for open stops: a stop whose claim has expired sends no nudge."""

log = structlog.get_logger("drover.render")


class Workers:
    def __init__(
        self, bus: Bus, workshop: Workshop, telemetry: Telemetry, worker_ids: Sequence[str], pace: Callable[[], Pace]
    ) -> None:
        self.nudges = Nudges(self._look, workshop.compositions.clear)
        self.workers = [Worker(Queue(bus, id_), workshop, self.nudges, telemetry, pace()) for id_ in worker_ids]
        self._workshop = workshop
        self._queue = Queue(bus, worker_ids[0])
        """The queue's client for what the workers share: stops and the sweep."""
        self._stops = Stops(self._queue, workshop)
        self._polled_on_demand_at = float("-inf")

    def poll_now(self) -> bool:
        """Let idle workers poll at once. Returns False, without effect, if the last call was less than a second ago."""
        now = self._workshop.elapsed()
        if now - self._polled_on_demand_at < DEMANDS_EVERY_S:
            return False
        self._polled_on_demand_at = now
        self.nudges.poll_now()
        return True

    def _look(self) -> None:
        for worker in self.workers:
            worker.look()

    @asynccontextmanager
    async def running(self, client: Client) -> AsyncIterator[Workers]:
        """Run the workers and what they share. On exit, the workers hand back their renders."""
        async with self.nudges.running(client):
            tasks = [asyncio.create_task(worker.work(), name=worker.worker_id) for worker in self.workers]
            tasks += [
                asyncio.create_task(self._beating(), name="render-beats"),
                asyncio.create_task(self._stopping(), name="render-stops"),
                asyncio.create_task(self._sweeping(), name="render-sweep"),
            ]
            try:
                yield self
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks, timeout=HAND_BACK_S + 1)  # `end` would cancel the hand-back, too
                await end(*tasks)

    async def _beating(self) -> None:
        while True:
            for worker in self.workers:
                worker.beat()
            await asyncio.sleep(BEAT_EVERY_S)

    async def _stopping(self) -> None:
        while True:
            await self._try("stops", self._stops.carry_out)
            await self.nudges.for_stops(STOPS_EVERY_S)

    async def _sweeping(self) -> None:
        while True:
            await self._try("sweep", lambda: sweep(self._queue, self._workshop))
            await asyncio.sleep(SWEEP_EVERY_S)

    async def _try(self, what: str, action: Callable[[], Awaitable[int]]) -> None:
        """Run a periodic action. It runs again anyway, so a failure must not end the process."""
        try:
            await action()
        except DroverError as error:
            log.warning(f"{what}_failed", error=str(error))
        except Exception:
            log.exception(f"{what}_failed")
