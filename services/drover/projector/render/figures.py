"""Metrics of the render queue, read from the read model at intervals.

Their names are those of document 003 (the render queue), §7.1.

Several processes may run this: they show the same values, and alert rules use the highest. What workers measure
themselves (the duration of renders, calls and copies) is not here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

import asyncpg
import msgspec
import structlog
from prometheus_client import REGISTRY
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from drover.postgres.errors import POSTGRES_AWAY
from drover.postgres.pool import Pool
from drover.projection.readable import contexts_being_built
from drover.readmodel.form import placed
from drover.service.tasks import end

REFRESH_EVERY_S: Final = 15.0
RETRY_EVERY_S: Final = 2.0
"""Seconds between retries while the tables cannot be read, as at the start, before the projector has created them."""
QUERY_S: Final = 5.0

_FIGURES: Final = "SELECT pending_count, success_rate, active_workers FROM rm_render.render_figures"

log = structlog.get_logger("drover.projector")


class Figures(msgspec.Struct, frozen=True):
    pending: int
    success_rate: float | None
    """The percentage of completed renders among those that were requested within 24 hours and have completed or failed.
    None: there are no such renders."""
    active_workers: int


class RenderFigures(Collector):
    """An async context manager that shows the metrics while its block runs.

    If the tables cannot be read, it shows no metrics: old values would look like current ones.
    """

    def __init__(
        self,
        pool: Pool,
        licences: int | None = None,
        *,
        registry: CollectorRegistry = REGISTRY,
        refresh_every_s: float = REFRESH_EVERY_S,
    ) -> None:
        """`licences`: how many workers there should be; None if unknown."""
        self.figures: Figures | None = None
        self._pool = pool
        self._licences = licences
        self._registry = registry
        self._refresh_every_s = refresh_every_s

    async def __aenter__(self) -> RenderFigures:
        self._registry.register(self)
        self._task = asyncio.create_task(self._run(), name="render figures")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._registry.unregister(self)
        await end(self._task)

    def describe(self) -> Iterator[Metric]:
        yield from self._families()

    def collect(self) -> Iterator[Metric]:
        pending, success_rate, active, licences = self._families()
        figures = self.figures
        if figures is not None:
            pending.add_metric([], figures.pending)
            active.add_metric([], figures.active_workers)
            if figures.success_rate is not None:
                success_rate.add_metric([], figures.success_rate)
        if self._licences is not None:
            licences.add_metric([], self._licences)
        yield from (pending, success_rate, active, licences)

    def _families(self) -> tuple[GaugeMetricFamily, ...]:
        return (
            GaugeMetricFamily("render_queue_pending_count", "Renders waiting for a worker."),
            GaugeMetricFamily(
                "render_job_success_rate",
                "Completed renders in percent of the completed and failed ones among those requested within 24 hours.",
            ),
            GaugeMetricFamily("ae_worker_active_count", "Render workers heard within 30 seconds, busy or idle."),
            GaugeMetricFamily("ae_worker_licence_count", "Render workers that should be active."),
        )

    async def _run(self) -> None:
        while True:
            self.figures = await self._read()
            known = self.figures is not None
            await asyncio.sleep(self._refresh_every_s if known else min(RETRY_EVERY_S, self._refresh_every_s))

    async def _read(self) -> Figures | None:
        try:
            if "render" in await contexts_being_built(self._pool):
                return None
            row = await self._pool.fetchrow(placed(_FIGURES), timeout=QUERY_S)
        except asyncpg.UndefinedTableError:
            return None
        except POSTGRES_AWAY as error:
            log.warning("render_figures_unknown", why=repr(error))
            return None
        return Figures(row["pending_count"], row["success_rate"], row["active_workers"])
