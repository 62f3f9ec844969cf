"""Puts any set of services into one process on one HTTP port. What a service is made of is in its own `app`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, nullcontext
from functools import cached_property, partial
from itertools import chain
from typing import Final

import structlog
from nats.aio.client import Client

from drover.api.app import Api
from drover.api.films.films import Films
from drover.api.identity.app import Identity, is_configured
from drover.api.identity.first_admin import FirstAdmin
from drover.api.identity.metrics import count_end
from drover.api.live.live import Live
from drover.api.past.moments import Moments
from drover.api.past.questions import fleet_decider
from drover.api.past.questions import render_decider as queue_decider
from drover.api.reads.app import Reads
from drover.api.reads.database import ReadModels
from drover.api.reads.system import NatsState
from drover.api.status import StatusReader
from drover.bus.client import CommandBus
from drover.bus.connection import connected, wait_closed
from drover.bus.live import announce, following_progress
from drover.bus.metrics import NATS_CONNECTED
from drover.bus.telemetry import TelemetryBatch, TelemetryOut, listening
from drover.bus.words import say
from drover.cleanup import app as cleanup_app
from drover.cli.durability import check_durability, watching_durability
from drover.cli.openapi import openapi_document
from drover.cli.service_names import PARTS, SERVICES
from drover.domain.contexts import CONTEXTS
from drover.domain.identity import IDENTITY
from drover.eventlog.figures import LogFigures
from drover.eventlog.holding import held_contexts
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import ALL, Partition
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.gateway.app import Gateway
from drover.gateway.feed import RosterFeed
from drover.gateway.roster import Roster
from drover.history.checkpoints import FoldCheckpoints
from drover.history.keeper import Keeper
from drover.history.travel import Place, TimeTraveller
from drover.notifier.app import Notifier
from drover.postgres import watch
from drover.postgres.pool import Pool, open_pool
from drover.projection.positions import Positions
from drover.projection.presence import PresenceTable, PresenceWriter
from drover.projector.app import Projector
from drover.projector.figures import ReadModelFigures
from drover.projector.fleet.presence import FLEET_PRESENCE
from drover.projector.render.figures import RenderFigures
from drover.projector.render.workers import RENDER_WORKERS
from drover.reminder.app import ReminderEdge, ReminderService
from drover.render.app import RenderWorkers, open_nas, render_writer
from drover.render.health import WorkerHealth
from drover.scheduler.app import Scheduler
from drover.service.config import Settings
from drover.service.health import Health
from drover.service.identity_keys import IdentityKeys
from drover.service.lifecycle import Component, Phase, run
from drover.service.metrics import show_process
from drover.service.spans import exporting_spans
from drover.web.application import ANY, add_route, create_application, nothing_here
from drover.web.auth import Authenticator, Verifier
from drover.web.ended_sessions import EndedSessions
from drover.web.freshness import Freshness
from drover.web.jwks import KeySet, fetch_from
from drover.web.people import BuiltIn, Foreign
from drover.web.serve import serve as serve_http
from drover.writer.nats_writer import nats_writer, prepare

READING: Final = frozenset({"gateway", "cleanup", "reminder", "projector", "api"})
"""Those that need Postgres. The others do without, and need not even reach it."""

log = structlog.get_logger("drover.serve")


class Process:
    """What the services of one process share, and the components that they add up to."""

    def __init__(
        self,
        settings: Settings,
        client: Client,
        pool: Pool,
        lease_token: str | None = None,
        first_admin: FirstAdmin | None = None,
        *,
        partitions: Mapping[str, Sequence[Partition]],
    ) -> None:
        """`partitions`: how every context is divided."""
        self.settings = settings
        self.lease_token = lease_token
        self.partitions = partitions
        self.held: frozenset[str] = frozenset()
        """Contexts whose reactors stay off."""
        self.first_admin = first_admin
        self.is_edge = False
        self.client = client
        self.pool = pool
        self.health = Health()
        self.health.add_ready("nats", lambda: None if client.is_connected else "NATS is not connected.")
        self.app = create_application(self.health, body_bytes_max=settings.body_bytes_max)
        self.components = [
            Component("nats connection", Phase.SERVER, nullcontext(), failure=partial(wait_closed, client))
        ]
        self.leads_identity: Callable[[], bool] = lambda: False
        self.auth = self._authenticator()

    def _authenticator(self) -> Authenticator:
        """Keys of programs, and the tokens of people wherever it is known who issues them."""
        settings = self.settings
        people: list[Verifier] = []
        ended = EndedSessions(JetStreamLog(self.client, Partition("identity")), told=self._count_sign_out)
        if settings.identity_secrets:
            people.append(BuiltIn(IdentityKeys(settings.identity_secrets)))
            self.health.add_ready("ended sessions", ended.why_not_ready)
            self.components.append(
                Component("ended sessions", Phase.REACTOR, ended.running(), failure=ended.wait_failed)
            )
        if settings.jwks_url and settings.jwt_issuer and settings.jwt_audience:
            keys = KeySet(fetch_from(settings.jwks_url))
            self.components.append(Component("issuer keys", Phase.REACTOR, keys.running()))
            people.append(
                Foreign(
                    keys,
                    issuer=settings.jwt_issuer,
                    audience=settings.jwt_audience,
                    role_claim=settings.jwt_role_claim,
                )
            )
        return Authenticator(settings.jwt_secrets, people=people, ended=ended)

    def _count_sign_out(self, reason: str) -> None:
        if self.leads_identity():  # of all processes that hear of it, one counts
            count_end(reason)

    def add_scheduler(self) -> None:
        scheduler = Scheduler(self.client, instance=self.settings.instance, lease_token=self.lease_token)
        self.components.append(
            Component("scheduler", Phase.WRITER, scheduler.running(), failure=scheduler.writer.wait_failed)
        )

    def add_gateway(self) -> None:
        roster = Roster()
        telemetry = TelemetryOut(self.client, "fleet", self.settings.instance)
        feed = RosterFeed(JetStreamLog(self.client, Partition("fleet")), roster, JetStreamSnapshots(self.client))
        self.health.add_ready("roster", feed.why_not_ready)
        bus = CommandBus(self.client)
        tell = partial(say, self.client)
        gateway = Gateway(self.settings, self.auth, bus, telemetry, roster, self.pool, self.positions, feed.at, tell)
        gateway.add_routes(self.app)
        self.components += [
            Component("roster", Phase.REACTOR, feed.running(), failure=feed.wait_failed),
            Component("telemetry", Phase.REACTOR, telemetry.running()),
        ]

    def add_render(self) -> None:
        """The queue's writer; and workers, where it is known what they work with."""
        writer = render_writer(self.client, self.settings, self.lease_token)
        self.components.append(Component("render writer", Phase.WRITER, writer.running(), failure=writer.wait_failed))
        if self.settings.render_workers and self.settings.render_nexrender_url:
            self.add_render_worker()

    def add_render_worker(self) -> None:
        """Workers without the writer: on a machine of their own."""
        if self._is_held("render"):
            return
        workers = RenderWorkers(self.client, self.settings)
        WorkerHealth(workers.workers).add_routes(self.app)
        self.components.append(Component("render workers", Phase.REACTOR, workers.running()))

    def add_cleanup(self) -> None:
        cleanup = cleanup_app.Cleanup(self.client, self.settings, self.lease_token)
        cleanup_app.add_routes(
            self.app,
            self.settings,
            auth=self.auth,
            bus=CommandBus(self.client),
            client=self.client,
            pool=self.pool,
            positions=self.positions,
        )
        self.components += [
            Component("analysis writer", Phase.WRITER, cleanup.writer.running(), failure=cleanup.writer.wait_failed),
            Component("cleanup", Phase.REACTOR, cleanup.watching(), failure=cleanup.books.wait_failed),
        ]

    def add_reminder(self) -> None:
        bus, partitions = CommandBus(self.client), self.partitions["reminder"]
        service = ReminderService(self.client, self.settings, bus, partitions, self.lease_token)
        edge = ReminderEdge(
            self.settings, auth=self.auth, bus=bus, pool=self.pool, positions=self.positions, partitions=partitions
        )
        edge.add_routes(self.app)
        self.components += [
            Component("reminder writers", Phase.WRITER, service.writing(), failure=service.wait_failed),
            Component("pages deleted", Phase.REACTOR, edge.listening(self.client)),
        ]
        if not self._is_held("reminder"):
            self.components.append(Component("reminder sending", Phase.REACTOR, service.sending()))

    def _is_held(self, context: str) -> bool:
        """After a restore nothing is done outside before a person has looked."""
        if context in self.held:
            log.warning("reactors_are_off", context=context, advice="drover reactors on, then restart this service")
        return context in self.held

    def add_notifier(self) -> None:
        notifier = Notifier(self.client, self.settings, held=self.held, lease_token=self.lease_token)
        if not notifier.receivers:
            log.info("alerts_are_told_nowhere", settings=["DROVER_ALERT_SLACK_URL", "DROVER_ALERT_WEBHOOK_URL"])
            return
        self.components.append(Component("notifier", Phase.REACTOR, notifier.running(), failure=notifier.wait_failed))

    @cached_property
    def positions(self) -> Positions:
        """How far every read model is, for all services of this process that hold reads back."""
        positions = Positions(chain.from_iterable(self.partitions.values()))
        self.components.append(
            Component("positions", Phase.REACTOR, following_progress(self.client, positions.observe))
        )
        return positions

    def add_projector(self) -> None:
        projector = Projector(
            partial(JetStreamLog, self.client),
            self.settings.postgres_url,
            partial(announce, self.client),
            partitions=self.partitions,
        )
        if not self.is_edge:
            # Where agents are served as well, a stopped read model must not take their door away with it.
            self.health.add_ready("projector", lambda: "A projection has stopped." if projector.stopped else None)
        self.components += [
            Component("projector", Phase.PROJECTOR, projector),
            Component("render figures", Phase.PROJECTOR, RenderFigures(self.pool, self._licences())),
            Component("figures", Phase.PROJECTOR, ReadModelFigures(self.pool)),
            Component("log figures", Phase.PROJECTOR, LogFigures(self.client, CONTEXTS)),
        ]
        for table in (FLEET_PRESENCE, RENDER_WORKERS):
            self._add_presence(table)

    def _add_presence(self, table: PresenceTable) -> None:
        presence = PresenceWriter(self.pool, table)

        def note(batch: TelemetryBatch) -> None:
            presence.note(batch.beats)

        name = f"presence of {table.context}"
        self.components += [
            Component(name, Phase.PROJECTOR, presence, failure=presence.wait_failed),
            Component(f"{name}, telemetry", Phase.REACTOR, listening(self.client, table.context, note)),
        ]

    def _licences(self) -> int | None:
        """How many render workers there should be; None: nobody has said."""
        settings = self.settings
        return settings.render_licences or (settings.render_workers if settings.render_nexrender_url else None)

    def add_api(self) -> None:
        self._add_identity()
        live = Live(self.auth, [JetStreamLog(self.client, Partition(context, ALL)) for context in CONTEXTS])
        self.health.add_ready("live", live.why_not_ready)
        Api(self.auth, StatusReader(self.client, self.pool, CONTEXTS), live).add_routes(self.app)
        self.components.append(Component("live", Phase.REACTOR, live.running(), failure=live.wait_failed))
        self._add_reads()
        self._add_films()
        self._add_past()

    def _add_reads(self) -> None:
        log = NatsState(self.client, CONTEXTS)
        instance = self.settings.instance
        reads = Reads(self.auth, self.pool, self.positions, log, instance=instance, document=openapi_document)
        reads.add_routes(self.app)

    def _add_films(self) -> None:
        """Finished files, where this process has a NAS to read them from."""
        settings = self.settings
        store = open_nas(settings) if settings.render_nas else None
        Films(self.auth, ReadModels(self.pool), store, settings.jwt_secrets).add_routes(self.app)

    def _add_past(self) -> None:
        checkpoints = FoldCheckpoints(self.pool)
        places = {
            context: Place(decider_of, JetStreamLog(self.client, Partition(context)))
            for context, decider_of in (("fleet", fleet_decider), ("render", queue_decider))
        }
        traveller = TimeTraveller(places, checkpoints)
        Moments(self.auth, traveller).add_routes(self.app)
        self.components.append(Component("time machine", Phase.REACTOR, traveller.running()))
        for place in places.values():
            keeper = Keeper(place.decider_of(), place.log, checkpoints)
            name = f"history of {place.log.partition.context}"
            self.components.append(Component(name, Phase.PROJECTOR, keeper.running()))

    def _add_identity(self) -> None:
        """The writer of accounts and sessions; and the issuer, where it has keys."""
        writer = nats_writer(self.client, IDENTITY, instance=self.settings.instance, lease_token=self.lease_token)
        self.leads_identity = writer.leading.is_set
        self.components.append(Component("identity writer", Phase.WRITER, writer.running(), failure=writer.wait_failed))
        if not is_configured(self.settings):
            log.warning("nobody_can_sign_in", settings=["DROVER_IDENTITY_SECRETS", "DROVER_SEALING_KEYS"])
            return
        identity = Identity(self.settings, self.auth, CommandBus(self.client), self.pool, Freshness(self.positions))
        identity.add_routes(self.app)
        self.components.append(Component("passwords", Phase.REACTOR, identity.passwords.running()))
        if self.first_admin is not None:
            self.components.append(Component("first admin", Phase.REACTOR, identity.first_admin(self.first_admin)))

    def add_watches(self, services: Sequence[str]) -> None:
        """What every process tells of itself and of the servers that it stands on."""
        show_process(self.health, services)
        NATS_CONNECTED.set_function(lambda: float(self.client.is_connected))
        self.components.append(Component("durability watch", Phase.SERVER, watching_durability(self.settings)))
        if READING & {*services}:
            self.components.append(Component("postgres watch", Phase.SERVER, watch.watching(self.pool)))

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
    first_admin: FirstAdmin | None = None,
) -> int:
    """Run these services, and what else the process is made of, until a signal or a fault; the exit code."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(
            exporting_spans(settings.otlp_endpoint, settings.trace_ratio, settings.instance, services)
        )
        client = await stack.enter_async_context(connected(settings.nats_url, settings.instance))
        await check_durability(settings)
        partitions = await prepare(
            client,
            CONTEXTS,
            replicas=settings.nats_replicas,
            partitions={"reminder": settings.reminder_partitions},
        )
        pool = await stack.enter_async_context(
            open_pool(settings.postgres_url, settings.instance, settings.postgres_connections_max)
        )
        process = Process(settings, client, pool, lease_token, first_admin, partitions=partitions)
        process.is_edge = "gateway" in services
        process.held = await held_contexts(client, CONTEXTS)
        for service in (*SERVICES, *PARTS):
            if service in services:
                getattr(process, f"add_{service.replace('-', '_')}")()
        if "api" not in services:
            add_route(process.app, ANY, "/", nothing_here)
        process.add_watches(services)
        process.add_http()
        log.info("starting", services=list(services), instance=settings.instance)
        components = [*process.components, *extra]
        return await run(components, process.health, grace_s=settings.shutdown_grace_s, on_ready=on_ready)
