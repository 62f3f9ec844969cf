"""The whole way with nothing stood in for: gateway, bus, writer, log, projector, PostgreSQL, and back."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import pytest
from nats.aio.client import Client

from drover.bus.broadcast import broadcast
from drover.bus.client import CommandBus
from drover.bus.commits import CommitFeed
from drover.bus.connection import connected
from drover.bus.live import announce, following_progress
from drover.bus.telemetry import TelemetryOut
from drover.domain.contexts import CONTEXTS
from drover.domain.decider import Decider
from drover.domain.fleet import FLEET
from drover.domain.render import RENDER
from drover.embedded.nats import NatsServer
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.eventlog.streams import last_seq
from drover.gateway.app import Gateway
from drover.gateway.feed import RosterFeed
from drover.gateway.roster import Roster
from drover.gateway.settings import GatewaySettings
from drover.hosting.service import add_unlisted
from drover.postgres.migrate import migrate
from drover.postgres.pool import open_pool
from drover.projection.newest import Newest
from drover.projection.positions import Positions
from drover.projector.app import Projector
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.testing.waiting import eventually
from drover.web.application import add_handlers, create_application
from drover.web.auth import Authenticator
from drover.web.freshness import Freshness
from drover.web.serve import serve
from drover.writer.nats_writer import nats_writer, prepare
from tests.patient_reads import patient_reads  # noqa: F401 - a fixture for all tests here
from tests.settings import load
from tests.subject_keys import served_keys

SECRET = "s" * 32
READ_S = 30.0
SEALING_KEY = "k1:" + "A" * 43 + "="


@dataclass
class Farm:
    url: str
    anon_key: str
    service_key: str
    roster: Roster
    bus: CommandBus
    client: Client
    positions: Positions

    async def read(self, context: str) -> None:
        """Wait until the read model has what the log has now."""
        last = await JetStreamLog(self.client, Partition(context)).last()
        assert last is not None
        assert await self.positions.wait(context, last.seq, READ_S)


@pytest.fixture
def deciders() -> tuple[Decider[Any], ...]:
    """Those that the farm has a writer for."""
    return FLEET, RENDER


@pytest.fixture
async def farm(
    own_nats: NatsServer, postgres_dsn: str, deciders: tuple[Decider[Any], ...], request: pytest.FixtureRequest
) -> AsyncIterator[Farm]:
    """With other settings by `@pytest.mark.parametrize("farm", [{NAME: value}], indirect=True)`."""
    settings = load(
        {
            "DROVER_NATS_URL": own_nats.url,
            "DROVER_POSTGRES_URL": postgres_dsn,
            "DROVER_JWT_SECRETS": SECRET,
            "DROVER_ANON": "agent",
            "DROVER_HTTP_PORT": "0",
            "DROVER_SEALING_KEYS": SEALING_KEY,
            **getattr(request, "param", {}),
        }
    )
    await migrate(settings.postgres_url)
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        client = await enter(connected(settings.nats_url, "test"))
        divided = await prepare(client, CONTEXTS)
        for decider in deciders:
            await enter(nats_writer(client, decider, instance=settings.instance).running())

        positions = Positions(chain.from_iterable(divided.values()))
        await enter(following_progress(client, positions.observe))
        commits = CommitFeed(client, partial(last_seq, client))
        newest = Newest(chain.from_iterable(divided.values()), commits.sync)
        await enter(commits.running(newest))
        projector = await enter(
            Projector(
                lambda partition: JetStreamLog(client, partition), settings.postgres_url, partial(announce, client)
            )
        )
        await eventually(lambda: all(runner.active for runner in projector.runners), READ_S)
        pool = await enter(open_pool(settings.postgres_url, "test"))
        roster = Roster()
        feed = RosterFeed(JetStreamLog(client, Partition("fleet")), roster, JetStreamSnapshots(client))
        await enter(feed.running())
        telemetry = TelemetryOut(client, "fleet", settings.instance)
        await enter(telemetry.running())

        bus = CommandBus(client)
        app = create_application(Health(), body_bytes_max=settings.body_bytes_max)
        gateway = Gateway(
            settings=settings,
            limits=GatewaySettings(),
            auth=Authenticator(settings.jwt_secrets),
            bus=bus,
            telemetry=telemetry,
            roster=roster,
            pool=pool,
            freshness=Freshness(positions, newest),
            roster_at=feed.at,
            tell=partial(broadcast, client),
            render_keys=served_keys(client, "render"),
        )
        add_handlers(app, gateway.handlers(), gateway.access)
        add_unlisted(app, [gateway.unknown_relation], gateway.access)
        port = await enter(serve(app, settings.http_host, settings.http_port, grace_s=1))
        yield Farm(
            f"http://127.0.0.1:{port}/rest/v1",
            issue_api_key(SECRET, Role.ANON, now_s=time.time()),
            issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time()),
            roster,
            bus,
            client,
            positions,
        )
