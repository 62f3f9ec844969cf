"""The reminder edge on a real port: partitions that decide in memory, no NATS, no Postgres."""

from __future__ import annotations

import base64
import time
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from drover.eventlog.log import Partition
from drover.projection.newest import Newest
from drover.reminder.app import ReminderEdge
from drover.reminder.settings import ReminderSettings
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.auth import Authenticator, Principal
from drover.web.freshness import Freshness
from tests.settings import load
from tests.subject_keys import Leaders, local_keys
from tests.unit.reminder.world import PARTITIONS, LocalBus

SECRET = "s" * 32
VAPID = base64.urlsafe_b64encode(bytes(range(1, 33))).decode().rstrip("=")
SETTINGS = {
    "DROVER_NATS_URL": "nats://x",
    "DROVER_POSTGRES_URL": "postgresql://x",
    "DROVER_JWT_SECRETS": SECRET,
    "DROVER_SEALING_KEYS": "k1:" + base64.b64encode(bytes(32)).decode(),
    "DROVER_REMINDER_VAPID_PRIVATE_KEY": VAPID,
}


class Auth(Authenticator):
    """Real for keys; `Bearer <role>:<id>` is a person, so that nothing here depends on how people's tokens look."""

    def authenticate(self, headers):
        kind, _, user = headers.get("Authorization", "").removeprefix("Bearer ").partition(":")
        if kind in ("authenticated", "viewer", "operator", "admin"):
            return Principal(Role(kind), f"user:{user}", float("inf"), user_id=user)
        return super().authenticate(headers)


class Postgres:
    """Answers what it is told to; without that the database is down, as it may be at any time."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] | None = None
        self.asked: list[tuple[Any, ...]] = []

    async def fetch(self, query, *args, timeout=None):  # noqa: ASYNC109
        self.asked.append(args)
        if self.rows is None:
            raise ConnectionRefusedError
        return self.rows


class Positions:
    def __init__(self) -> None:
        self.waits: list[tuple[str, int]] = []

    async def wait(self, place, seq, timeout_s):
        self.waits.append((place, seq))
        return True


class Edge:
    client: TestClient

    def __init__(self, **settings: str) -> None:
        self.bus = LocalBus()
        self.postgres = Postgres()
        self.positions = Positions()
        partitions = [Partition("reminder", name) for name in PARTITIONS]
        environ = {name: value for name, value in (SETTINGS | settings).items() if value}
        self.leaders = Leaders()
        has_keys = bool(load(environ).sealing_keys)
        edge = ReminderEdge(
            load(environ),
            load(environ, ReminderSettings),
            bus=self.bus,
            pool=self.postgres,
            freshness=Freshness(self.positions, Newest(partitions)),
            partitions=partitions,
            keys=local_keys("reminder", partitions=PARTITIONS, leaders=self.leaders) if has_keys else None,
        )
        self.clients = edge.clients
        self.app = create_application(Health(), body_bytes_max=1024 * 1024)
        add_handlers(self.app, edge.handlers(), Access.of(load(environ), Auth([SECRET])))

    async def call(self, method: str, path: str, json: Any = None, *, who: str = "service", **headers: str):
        """The answer and its body, as `who`: service, anon, or a person `role:id`."""
        if who in ("service", "anon"):
            role = Role.SERVICE_ROLE if who == "service" else Role.ANON
            headers["apikey"] = issue_api_key(SECRET, role, now_s=time.time())
        else:
            headers["Authorization"] = f"Bearer {who}"
        answer = await self.client.request(method, path, json=json, headers=headers)
        text = await answer.text()
        return answer, (await answer.json() if text else None)

    async def post(self, path: str, json: Any, **how: str):
        return await self.call("POST", f"/api/reminder/{path}", json, **how)

    async def registered(self, page: str = "page-1", user: str = "user_1") -> None:
        answer, _ = await self.post("register-by-page", {"page_id": page, "user_id": user})
        assert answer.status in (200, 201)


@pytest.fixture
async def make_edge():
    made: list[Edge] = []

    async def make(**settings: str) -> Edge:
        edge = Edge(**settings)
        edge.client = TestClient(TestServer(edge.app))
        await edge.client.start_server()
        made.append(edge)
        return edge

    yield make
    for edge in made:
        await edge.client.close()


@pytest.fixture
async def edge(make_edge) -> Edge:
    return await make_edge()
