"""The reminder service with its writers, reactor, edge and projector, on a real NATS and a real Postgres, and the
writer of identity, for erasures."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import asyncpg
import msgspec
import pytest
from aiohttp.test_utils import TestClient, TestServer

from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.bus.live import announce, following_progress
from drover.domain.identity import IDENTITY
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import ALL, Partition
from drover.gateway.app import Gateway
from drover.gateway.roster import Roster
from drover.gateway.settings import GatewaySettings
from drover.postgres.migrate import migrate
from drover.postgres.pool import open_pool
from drover.projection.memory import MemoryTables
from drover.projection.newest import Newest
from drover.projection.positions import Positions
from drover.projector.app import Projector
from drover.projector.reminder import REMINDER_PROJECTION
from drover.readmodel.form import placed
from drover.reminder.app import ReminderEdge, ReminderService
from drover.reminder.settings import ReminderSettings
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.testing.waiting import eventually
from drover.web.application import add_handlers, create_application
from drover.web.auth import Authenticator
from drover.web.freshness import Freshness
from drover.writer.nats_writer import nats_writer, prepare
from tests.patient_reads import patient_reads  # noqa: F401 - a fixture for all tests here
from tests.settings import load
from tests.subject_keys import served_keys

SECRET = "s" * 32
PARTITIONS = 4


class Platform:
    """One process' worth of reminders."""

    client: TestClient

    def __init__(self, nats: Any, dsn: str, **settings: str) -> None:
        self.dsn = dsn
        self.nats_url = nats.url
        environ = {
            "DROVER_NATS_URL": nats.url,
            "DROVER_POSTGRES_URL": dsn,
            "DROVER_JWT_SECRETS": SECRET,
            "DROVER_INSTANCE": "one",
            **{f"DROVER_REMINDER_{name}": value for name, value in settings.items()},
        }
        self.settings, self.reminder = load(environ), load(environ, ReminderSettings)

    async def start(self, stack: AsyncExitStack) -> None:
        settings = self.settings
        self.nats = await stack.enter_async_context(connected(settings.nats_url, settings.instance))
        divided = await prepare(self.nats, ("reminder",), partitions={"reminder": self.reminder.reminder_partitions})
        self.partitions = divided["reminder"]
        await prepare(self.nats, ("identity",))
        await stack.enter_async_context(nats_writer(self.nats, IDENTITY, instance=settings.instance).running())
        self.pool = await stack.enter_async_context(open_pool(self.dsn, "test"))
        self.positions = Positions(self.partitions)
        self.freshness = Freshness(self.positions, Newest(self.partitions))
        await stack.enter_async_context(following_progress(self.nats, self.positions.observe))
        projector = Projector(
            partial(JetStreamLog, self.nats),
            self.dsn,
            partial(announce, self.nats),
            projections=[REMINDER_PROJECTION],
            partitions=divided,
        )
        await stack.enter_async_context(projector)
        bus = CommandBus(self.nats)
        self.keys = served_keys(self.nats, "reminder", partitions=[partition.name for partition in self.partitions])
        self.service = ReminderService(
            self.nats, self.reminder, bus=bus, instance=settings.instance, partitions=self.partitions, keys=self.keys
        )
        await stack.enter_async_context(self.service.writing())
        await stack.enter_async_context(self.service.sending())
        edge = ReminderEdge(
            settings,
            self.reminder,
            bus=bus,
            pool=self.pool,
            freshness=self.freshness,
            partitions=self.partitions,
            keys=self.keys,
        )
        await stack.enter_async_context(edge.listening(self.nats))
        app = create_application(Health(), body_bytes_max=1024 * 1024)
        gateway = Gateway(
            settings=settings,
            limits=GatewaySettings(),
            auth=Authenticator([SECRET]),
            bus=bus,
            telemetry=None,
            roster=Roster(),
            pool=self.pool,
            freshness=self.freshness,
            roster_at=self.positions,
            reminder_partitions=self.partitions,
            reminder_keys=self.keys,
        )
        add_handlers(app, [*edge.handlers(), *gateway.handlers()], gateway.access)
        self.client = TestClient(TestServer(app))
        await self.client.start_server()
        stack.push_async_callback(self.client.close)

    async def call(self, method: str, path: str, json: Any = None, **headers: str):
        headers["apikey"] = issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())
        answer = await self.client.request(method, path, json=json, headers=headers)
        raw = await answer.read()
        return answer, (msgspec.json.decode(raw) if raw else None)

    async def post(self, path: str, json: Any, **headers: str):
        return await self.call("POST", f"/api/reminder/{path}", json, **headers)

    async def register(self, page: str, user: str = "user_1", **texts: str):
        answer, alarm = await self.post("register-by-page", {"page_id": page, "user_id": user, **texts})
        assert answer.status in (200, 201), alarm
        return answer

    async def rows(self, query: str, position: str = "") -> list[dict[str, Any]]:
        """All of them; 503 is tried again, as clients do: on a slow machine the tables come later than a read waits."""
        headers = {"Drover-Min-Position": position} if position else {}

        async def answered():
            answer, rows = await self.call("GET", f"/rest/v1/{query}", **headers)
            assert answer.status in (200, 503), rows
            return (rows,) if answer.status == 200 else None

        (rows,) = await eventually(answered)
        return rows

    def led(self) -> set[str]:
        return {writer.partition.name for writer in self.service.writers if writer.leading.is_set()}

    @property
    def states(self):
        return [writer.state for writer in self.service.writers]

    async def settled(self) -> None:
        """Nothing is due, nothing in hand."""
        await eventually(
            lambda: all(
                state is not None and not state.in_hand and (state.due_s() or time.time() + 9) > time.time() + 1
                for state in self.states
            )
        )

    async def read_model(self) -> dict[str, set[tuple[Any, ...]]]:
        connection = await asyncpg.connect(self.dsn)
        try:
            return {
                table.name: {
                    tuple(map(_plain, record))
                    for record in await connection.fetch(
                        placed(f"SELECT {', '.join(map(_quoted, table.columns))} FROM rm_reminder.{table.name}")
                    )
                }
                for table in REMINDER_PROJECTION.tables
            }
        finally:
            await connection.close()

    async def as_the_log_says(self) -> dict[str, set[tuple[Any, ...]]]:
        log = JetStreamLog(self.nats, Partition("reminder", ALL))
        last = await log.last()
        tables, seq = MemoryTables(REMINDER_PROJECTION), 0
        async with log.read(0) as reader:
            while last is not None and seq < last.seq:
                for commit in await reader.next():
                    tables.fold(commit)
                    seq = commit.seq
        return {
            table.name: {tuple(map(_plain, row)) for row in tables.rows(table)} for table in REMINDER_PROJECTION.tables
        }


def _quoted(name: str) -> str:
    return f'"{name}"'


def _plain(value: Any) -> Any:
    """The same for a row from memory and a row from Postgres."""
    if isinstance(value, str) and value.startswith("{"):
        return msgspec.json.encode(msgspec.json.decode(value), order="sorted")  # jsonb has an order of its own
    return tuple(value) if isinstance(value, list) else value


@pytest.fixture
async def dsn(postgres_dsn: str) -> str:
    await migrate(postgres_dsn)
    return postgres_dsn


@pytest.fixture
async def make_platform(own_nats, dsn):
    """Starts processes' worth of reminders on the same servers; each ends with its stack."""
    async with AsyncExitStack() as stack:

        async def make(own: AsyncExitStack | None = None, **settings: str) -> Platform:
            platform = Platform(own_nats, dsn, **settings)
            await platform.start(own or stack)
            await eventually(lambda: len(platform.led()) == len(platform.partitions))
            return platform

        yield make


@pytest.fixture
async def platform(make_platform) -> Platform:
    return await make_platform()
