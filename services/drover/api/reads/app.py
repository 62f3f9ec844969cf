"""Assembles the reads: one reader of the read models for all subjects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from drover.api.leads import LogState
from drover.api.reads import alerts, analyses, chain, devices, events, jobs, overview, pcs, reminders, renders, system
from drover.api.reads.database import Pool, ReadModels
from drover.api.reads.endpoint import Endpoint
from drover.api.reads.openapi import DocumentPage
from drover.api.reads.system import SystemReader
from drover.web.freshness import Freshness

HANDLERS: Final = (
    overview.Overviews,
    pcs.Pcs,
    devices.Devices,
    jobs.Jobs,
    renders.Renders,
    analyses.Analyses,
    reminders.Reminders,
    alerts.Alerts,
    events.Events,
    chain.Chains,
    system.Systems,
    DocumentPage,
)


class Reads:
    def __init__(
        self,
        pool: Pool,
        freshness: Freshness,
        log: LogState,
        *,
        instance: str,
        document: Callable[[], dict[str, Any]],
    ) -> None:
        """`document`: makes the OpenAPI document of all services, on the first request for it."""
        models = ReadModels(pool)
        endpoint = Endpoint(freshness, models)
        reader = SystemReader(log, models, instance)
        self.handlers = (
            overview.Overviews(endpoint, reader),
            pcs.Pcs(endpoint),
            devices.Devices(endpoint),
            jobs.Jobs(endpoint),
            renders.Renders(endpoint),
            analyses.Analyses(endpoint),
            reminders.Reminders(endpoint),
            alerts.Alerts(endpoint),
            events.Events(endpoint),
            chain.Chains(endpoint),
            system.Systems(endpoint, reader),
            DocumentPage(document),
        )
