"""Builds the cleanup service: the writer of analyses, the cron schedule, the audit, and the HTTP routes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final

from nats.aio.client import Client

from drover.bus.messages import Bus
from drover.cleanup import health
from drover.cleanup.audit import Audit
from drover.cleanup.cleaning import Cleaning
from drover.cleanup.cron import CleanupCron
from drover.cleanup.manual import ManualCleanup
from drover.cleanup.options import cleanup_options
from drover.cleanup.people import CleanupByPeople
from drover.cleanup.saju_tests import SajuTests
from drover.cleanup.schedule import Schedule
from drover.cleanup.secret import CronSecrets
from drover.cleanup.settings import CleanupSettings
from drover.cleanup.users import Users
from drover.domain.analysis import ANALYSIS
from drover.domain.analysis.state import Analyses
from drover.domain.analysis.validation import validate
from drover.eventlog.log import OpenLog, Partition
from drover.eventlog.snapshots import SnapshotSource
from drover.hosting.host import Host
from drover.hosting.service import Assembly, Service
from drover.service.config import Settings
from drover.service.lifecycle import Component, Phase
from drover.web.callers import Callers
from drover.web.commands import CommandClient
from drover.web.forgotten import ForgottenWork
from drover.web.forgotten_kinds import ANALYSIS_WORK
from drover.web.freshness import Freshness
from drover.writer.nats_writer import nats_writer
from drover.writer.writer import Writer


class Cleanup:
    """The part of the service that runs in each process. The leading process runs the cron schedule and the audit; the
    others can take over at once."""

    def __init__(
        self,
        client: Client,
        settings: CleanupSettings,
        *,
        open_log: OpenLog,
        archived: SnapshotSource | None = None,
        instance: str,
        lease_token: str | None = None,
    ) -> None:
        self.writer: Writer[Analyses] = nats_writer(
            client, ANALYSIS, instance=instance, lease_token=lease_token, open_log=open_log, archived=archived
        )
        self._cron = CleanupCron(self.writer, Schedule(settings.cleanup_cron), cleanup_options(settings))
        self.audit = Audit(open_log(Partition(ANALYSIS.context)), self.writer)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Run the cron schedule and the audit. They stop before the writer, because a stopping writer accepts no
        commands."""
        async with self.audit.running(), self._cron.running():
            yield


@dataclass(frozen=True, kw_only=True)
class CleanupEdge:
    """The HTTP routes for people, workers, cron jobs and monitoring. Any process can serve them, because commands go
    over NATS."""

    settings: Settings
    cleanup: CleanupSettings
    bus: Bus
    client: Any
    pool: Any
    freshness: Freshness

    def handlers(self) -> list[object]:
        settings, cleanup, freshness = self.settings, self.cleanup, self.freshness
        commands = CommandClient(
            self.bus,
            ANALYSIS.context,
            freshness=freshness,
            validate=validate,
            recall=ForgottenWork(self.pool, ANALYSIS, ANALYSIS_WORK).answer,
        )
        probes = {
            "database": health.database(self.pool),
            "clerk": None if settings.jwks_url is None else health.address(settings.jwks_url),
            "gemini": None if cleanup.analysis_url is None else health.address(cleanup.analysis_url),
            "nats": health.nats(self.client),
            "writers": health.writers(self.client),
        }
        secrets, callers = CronSecrets(cleanup.cron_secrets), Callers.of(settings)
        manual = ManualCleanup(commands, cleanup_options(cleanup))
        return [
            Cleaning(secrets, manual, callers),
            CleanupByPeople(manual),
            health.Dependencies(probes, version("drover")),
            SajuTests(commands, freshness, self.pool, events_per_day=settings.user_events_per_day),
            Users(commands),
        ]


def assemble(host: Host) -> Assembly:
    settings = host[CleanupSettings]
    cleanup = Cleanup(
        host.client,
        settings,
        open_log=host.open_log,
        archived=host.archived_snapshots,
        instance=host.settings.instance,
        lease_token=host.lease_token,
    )
    edge = CleanupEdge(
        settings=host.settings,
        cleanup=settings,
        bus=host.bus,
        client=host.client,
        pool=host.pool,
        freshness=host.freshness,
    )
    writer = cleanup.writer
    return Assembly(
        handlers=edge.handlers(),
        access=host.access,
        writers=[writer],
        components=[
            Component("analysis writer", Phase.WRITER, writer.running(), failure=writer.wait_failed),
            Component("cleanup", Phase.REACTOR, cleanup.watching(), failure=cleanup.audit.wait_failed),
        ],
    )


SERVICE: Final = Service(
    name="cleanup",
    assemble=assemble,
    handlers=(Cleaning, CleanupByPeople, health.Dependencies, SajuTests, Users),
    settings=(CleanupSettings,),
    reads_postgres=True,
    tells="analysis",
    takes_requests=True,
)
