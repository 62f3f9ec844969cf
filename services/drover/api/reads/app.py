"""The reads put together: one door, one connection to the read models, every subject's routes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from aiohttp import web

from drover.api.leads import LogState
from drover.api.reads import alerts, analyses, chain, devices, events, jobs, overview, pcs, reminders, renders, system
from drover.api.reads.database import Pool, ReadModels
from drover.api.reads.door import Door
from drover.api.reads.openapi import DocumentPage
from drover.api.reads.system import SystemReader
from drover.web.auth import Authenticator
from drover.web.freshness import Freshness, Waiter
from drover.web.openapi.operation import Operation

OPERATIONS: Final[tuple[Operation, ...]] = (
    *overview.OPERATIONS,
    *pcs.OPERATIONS,
    *devices.OPERATIONS,
    *jobs.OPERATIONS,
    *renders.OPERATIONS,
    *analyses.OPERATIONS,
    *reminders.OPERATIONS,
    *alerts.OPERATIONS,
    *events.OPERATIONS,
    *chain.OPERATIONS,
    *system.OPERATIONS,
)


class Reads:
    def __init__(
        self,
        auth: Authenticator,
        pool: Pool,
        positions: Waiter,
        log: LogState,
        *,
        instance: str,
        document: Callable[[], dict[str, Any]],
    ) -> None:
        """`document`: the OpenAPI document of all services, made when it is first asked for."""
        models = ReadModels(pool)
        door = Door(auth, Freshness(positions), models)
        reader = SystemReader(log, models, instance)
        self._subjects = (
            overview.Overviews(door, reader),
            pcs.Pcs(door),
            devices.Devices(door),
            jobs.Jobs(door),
            renders.Renders(door),
            analyses.Analyses(door),
            reminders.Reminders(door),
            alerts.Alerts(door),
            events.Events(door),
            chain.Chains(door),
            system.Systems(door, reader),
            DocumentPage(document),
        )

    def add_routes(self, app: web.Application) -> None:
        for subject in self._subjects:
            subject.add_routes(app)
