"""`GET /health`: how the workers of this process are (003 §9.3). No authentication: it says nothing that is secret."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

from drover.render.worker import Worker
from drover.render.workers import Workers
from drover.web.application import add_route


class WorkerHealth:
    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def add_routes(self, app: web.Application) -> None:
        add_route(app, "GET", "/health", self.get)

    async def get(self, request: web.Request) -> web.Response:
        """The first worker's answer is that of 003; a process with several lists them all."""
        all_ = [self._of(worker) for worker in self._workers.workers]
        body = all_[0] if len(all_) == 1 else {**all_[0], "workers": all_}
        return web.Response(body=msgspec.json.encode(body), content_type="application/json")

    def _of(self, worker: Worker) -> dict[str, Any]:
        return {
            "status": worker.health,
            "worker_id": worker.worker_id,
            "uptime_seconds": round(worker.uptime_s, 3),
            "current_job_id": None if worker.run is None else worker.run.claimed.render_id,
            "last_poll": worker.last_poll,
            "job_count_completed": worker.completed,
        }
