"""`GET /health`: the health of this process's workers. `POST /health/poll`: lets idle workers poll at once.

See document 003 (the render queue), §9.3 and §6.1. Neither route needs authentication: the answers have no secrets, and
polling early does no harm.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from aiohttp import web
from msgspec import UNSET, UnsetType

from drover.render.worker import Worker
from drover.render.workers import Workers
from drover.web.answers import json_answer
from drover.web.route import Answer, Route, handles


class WorkerHealth(msgspec.Struct):
    """The health of one render worker, with the fields that the users' own workers reported."""

    status: str
    worker_id: str
    uptime_seconds: float
    current_job_id: int | None
    last_poll: datetime | None
    job_count_completed: int
    workers: list[WorkerHealth] | UnsetType = UNSET
    """The health of each render worker, if the process has several."""


class Asked(msgspec.Struct):
    asked: bool
    """Whether the idle workers were woken. False: they were already woken less than a second ago."""


class WorkerProbe:
    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    @handles(
        Route(
            method="GET",
            path="/health",
            id="getWorkerHealth",
            tag="process",
            summary="Health of the render workers of this process",
            caller="anybody",
            answers={200: Answer(WorkerHealth)},
        )
    )
    async def get(self, request: web.Request) -> web.Response:
        """Send the first worker's health, in the form of document 003 (the render queue), §9.3. With several workers,
        the answer also lists all of them."""
        all_ = [_health_of(worker) for worker in self._workers.workers]
        body = all_[0] if len(all_) == 1 else msgspec.structs.replace(all_[0], workers=all_)
        return json_answer(body)

    @handles(
        Route(
            method="POST",
            path="/health/poll",
            id="pollForRenders",
            tag="process",
            summary="Let the idle render workers of this process poll at once",
            caller="anybody",
            answers={200: Answer(Asked)},
        )
    )
    async def poll(self, request: web.Request) -> web.Response:
        """Let idle workers poll at once, for tests and monitoring. Not needed otherwise: new work wakes the workers."""
        return json_answer(Asked(self._workers.poll_now()))


def _health_of(worker: Worker) -> WorkerHealth:
    return WorkerHealth(
        status=worker.health,
        worker_id=worker.worker_id,
        uptime_seconds=round(worker.uptime_s, 3),
        current_job_id=None if worker.run is None else worker.run.claimed.render_id,
        last_poll=worker.last_poll,
        job_count_completed=worker.completed,
    )
