"""Puts any set of services into one process on one HTTP port. What a service is made of is in its own `app`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, nullcontext
from functools import partial
from typing import Final

import structlog
from nats.aio.client import Client

from drover.api.app import Api
from drover.api.live.live import Live
from drover.api.status import StatusReader
from drover.bus.client import CommandBus
from drover.bus.connection import connected, wait_closed
from drover.bus.live import announce, following_progress
from drover.bus.telemetry import TelemetryBatch, TelemetryOut, listening
from drover.domain.contexts import CONTEXTS
from drover.eventlog.durability import DurabilityUnknown, refuse_unsynced
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.gateway.app import Gateway
from drover.gateway.feed import RosterFeed
from drover.gateway.roster import Roster
from drover.postgres.pool import Pool, open_pool
from drover.projection.positions import Positions
from drover.projection.presence import PresenceWriter
from drover.projector.app import Projector
from drover.scheduler.app import Scheduler
from drover.service.config import Settings
from drover.service.health import Health
from drover.service.lifecycle import Component, Phase, run
from drover.web.application import ANY, add_route, create_application, nothing_here
from drover.web.auth import Authenticator
from drover.web.serve import serve as serve_http
from drover.writer.nats_writer import prepare

SERVICES: Final = ("scheduler", "gateway", "projector", "api")

log = structlog.get_logger("drover.serve")


class Process:
    """What the services of one process share, and the components that they add up to."""

    def __init__(self, settings: Settings, client: Client, pool: Pool, lease_token: str | None = None) -> None:
        self.settings = settings
        self.lease_token = lease_token
        self.is_edge = False
        self.client = client
        self.pool = pool
        self.health = Health()
        self.health.add_ready("nats", lambda: None if client.is_connected else "NATS is not connected.")
        self.auth = Authenticator(settings.jwt_secrets)
        self.app = create_application(self.health, body_bytes_max=settings.body_bytes_max)
        self.components = [
            Component("nats connection", Phase.SERVER, nullcontext(), failure=partial(wait_closed, client))
        ]

    def add_scheduler(self) -> None:
        scheduler = Scheduler(self.client, instance=self.settings.instance, lease_token=self.lease_token)
        self.components.append(
            Component("scheduler", Phase.WRITER, scheduler.running(), failure=scheduler.writer.wait_failed)
        )

    def add_gateway(self) -> None:
        roster, positions = Roster(), Positions()
        telemetry = TelemetryOut(self.client, "fleet", self.settings.instance)
        feed = RosterFeed(JetStreamLog(self.client, Partition("fleet")), roster, JetStreamSnapshots(self.client))
        self.health.add_ready("roster", feed.why_not_ready)
        bus = CommandBus(self.client)
        gateway = Gateway(self.settings, self.auth, bus, telemetry, roster, self.pool, positions, feed.at)
        gateway.add_routes(self.app)
        self.components += [
            Component("roster", Phase.REACTOR, feed.running(), failure=feed.wait_failed),
            Component("telemetry", Phase.REACTOR, telemetry.running()),
            Component("positions", Phase.REACTOR, following_progress(self.client, positions.observe)),
        ]

    def add_projector(self) -> None:
        projector = Projector(
            partial(JetStreamLog, self.client), self.settings.postgres_url, partial(announce, self.client)
        )
        presence = PresenceWriter(self.pool)

        def note(batch: TelemetryBatch) -> None:
            presence.note(batch.beats)

        if not self.is_edge:
            # Where agents are served as well, a stopped read model must not take their door away with it.
            self.health.add_ready("projector", lambda: "A projection has stopped." if projector.stopped else None)
        self.components += [
            Component("projector", Phase.PROJECTOR, projector),
            Component("presence", Phase.PROJECTOR, presence, failure=presence.wait_failed),
            Component("presence telemetry", Phase.REACTOR, listening(self.client, "fleet", note)),
        ]

    def add_api(self) -> None:
        live = Live(self.auth, [JetStreamLog(self.client, Partition(context)) for context in CONTEXTS])
        self.health.add_ready("live", live.why_not_ready)
        Api(self.auth, StatusReader(self.client, self.pool, CONTEXTS), live).add_routes(self.app)
        self.components.append(Component("live", Phase.REACTOR, live.running(), failure=live.wait_failed))

    def add_http(self) -> None:
        """Last of all, so that the port opens when everything behind it works."""
        settings = self.settings
        listener = serve_http(self.app, settings.http_host, settings.http_port, grace_s=settings.shutdown_grace_s)
        self.components.append(Component("http", Phase.EDGE, listener))


async def serve(
    settings: Settings,
    services: Sequence[str],
    *,
    on_ready: Callable[[], None] | None = None,
    extra: Sequence[Component] = (),
    lease_token: str | None = None,
) -> int:
    """Run these services, and what else the process is made of, until a signal or a fault; the exit code."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(connected(settings.nats_url, settings.instance))
        await _check_durability(settings)
        await prepare(client, CONTEXTS, replicas=settings.nats_replicas)
        pool = await stack.enter_async_context(
            open_pool(settings.postgres_url, settings.instance, settings.postgres_connections_max)
        )
        process = Process(settings, client, pool, lease_token)
        process.is_edge = "gateway" in services
        for service in SERVICES:
            if service in services:
                getattr(process, f"add_{service}")()
        if "api" not in services:
            add_route(process.app, ANY, "/", nothing_here)
        process.add_http()
        log.info("starting", services=list(services), instance=settings.instance)
        components = [*process.components, *extra]
        return await run(components, process.health, grace_s=settings.shutdown_grace_s, on_ready=on_ready)


async def _check_durability(settings: Settings) -> None:
    if settings.allow_unsynced:
        log.warning("unsynced_servers_allowed", setting="DROVER_ALLOW_UNSYNCED")
        return
    if settings.nats_system_url is None:
        raise DurabilityUnknown("DROVER_NATS_SYSTEM_URL is not set, so nobody can ask whether the servers sync")
    async with connected(settings.nats_system_url, f"{settings.instance}-durability") as system:
        log.info("servers_sync_every_write", servers=await refuse_unsynced(system))
