"""Builds all read endpoints, over one connection pool to the read models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from drover.api.leads import LogState
from drover.api.reads import (
    alerts,
    analyses,
    chain,
    devices,
    events,
    farm_series,
    find,
    jobs,
    overview,
    pcs,
    reminders,
    renders,
    system,
)
from drover.api.reads.database import Pool, ReadModels
from drover.api.reads.endpoint import Endpoint
from drover.api.reads.openapi import DocumentPage
from drover.api.reads.system import SystemReader
from drover.api.reads.why.routes import Whys
from drover.bus.subject_keys import SubjectKeys
from drover.web.alarm_texts import AlarmTexts
from drover.web.audit import Audit
from drover.web.freshness import Freshness

HANDLERS: Final = (
    overview.Overviews,
    farm_series.FarmSeriesReads,
    pcs.Pcs,
    devices.Devices,
    jobs.Jobs,
    renders.Renders,
    analyses.Analyses,
    reminders.Reminders,
    Whys,
    alerts.Alerts,
    events.Events,
    find.Finder,
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
        audit: Audit | None = None,
        reminder_keys: SubjectKeys | None = None,
    ) -> None:
        """`document`: a function that makes the OpenAPI document of all services; it is called at the first request for
        it. `reminder_keys`: the keys of users' texts; None if this process has no sealing keys."""
        models = ReadModels(pool)
        endpoint = Endpoint(freshness, models, audit)
        reader = SystemReader(log, models, instance)
        self.handlers = (
            overview.Overviews(endpoint, reader),
            farm_series.FarmSeriesReads(endpoint),
            pcs.Pcs(endpoint),
            devices.Devices(endpoint),
            jobs.Jobs(endpoint),
            renders.Renders(endpoint),
            analyses.Analyses(endpoint),
            reminders.Reminders(endpoint, AlarmTexts(reminder_keys)),
            Whys(endpoint),
            alerts.Alerts(endpoint),
            events.Events(endpoint),
            find.Finder(endpoint),
            chain.Chains(endpoint),
            system.Systems(endpoint, reader),
            DocumentPage(document),
        )
