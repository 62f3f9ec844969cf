"""The cleanup service on a real port: a bus that answers by the decider, a clock that moves with it, no Postgres."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest
import structlog
from aiohttp import ClientResponse
from aiohttp.test_utils import TestClient, TestServer
from nats.js.errors import NotFoundError
from structlog.testing import capture_logs

from drover.bus.messages import Outcome
from drover.cleanup import health, log_lines
from drover.cleanup.app import CleanupEdge
from drover.cleanup.settings import CleanupSettings
from drover.domain.analysis import ANALYSIS
from drover.domain.analysis import commands as c
from drover.domain.decider import Command, Tick
from drover.eventlog.log import Partition
from drover.projection.newest import Newest
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.testing.scenario import Scenario
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.auth import Authenticator, Principal
from drover.web.freshness import Freshness
from tests.settings import load
from tests.unit.wire import on_the_wire, outcome_of

SECRET = "s" * 32
CRON_SECRET = "the-secret-of-the-cron-job"
OLD_SECRET = "the-secret-it-had-before"
ANN = "user_ann"


class Writer:
    """Stands in for bus and writer: commands and answers go through their wire form. The clock ticks when asked."""

    def __init__(self) -> None:
        self.analyses = Scenario(ANALYSIS)
        self.sent: list[dict[str, Any]] = []
        self.answer: Outcome | None = None
        """What to answer instead."""
        self.ticks_between = 1
        """Ticks before each question about a run: 0 and no run that takes several commits ever ends."""
        self._seq = 0

    async def send(self, context, command, *, by, id=None, trace=None, partition="main"):
        assert context == "analysis"
        self.sent.append({"command": command, "by": by, "id": id, "trace": trace})
        if self.answer is not None:
            return self.answer
        if isinstance(command, c.GetCleanupRun):
            for _ in range(self.ticks_between):
                self.do(Tick())
        return self.do(command)

    def do(self, command: Command) -> Outcome:
        decision = self.analyses.when(on_the_wire(command, ANALYSIS.commands)).decision
        self._seq += bool(decision.events)
        return outcome_of(ANALYSIS, decision, self._seq)

    @property
    def commands(self) -> list[Command]:
        return [sent["command"] for sent in self.sent]


class Postgres:
    """Answers what it is told to; without that the database is down, as it may be at any time."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] | None = None
        self.row: dict[str, Any] | None = None
        self.asked: list[tuple[Any, ...]] = []

    def shows(self, *rows: dict[str, Any]) -> None:
        """Let a read of a table find these rows."""
        body = msgspec.json.encode(rows).decode()
        self.rows, self.row = [], {"body": body, "rows": len(rows), "total": len(rows), "bytes": len(body)}

    async def fetch(self, query, *args, timeout=None):  # noqa: ASYNC109
        self.asked.append(args)
        if self.rows is None:
            raise ConnectionRefusedError
        return self.rows

    async def fetchrow(self, query, *args, timeout=None):  # noqa: ASYNC109
        if self.rows is None:
            raise ConnectionRefusedError
        return self.row


class Nats:
    """Connected, and without any log: no writer has run yet."""

    is_connected = True

    async def flush(self, timeout=None):  # noqa: ASYNC109
        pass

    def jetstream(self):
        return self

    async def stream_info(self, name):
        raise NotFoundError


class Reached:
    async def wait(self, context, seq, timeout_s):
        return True


class Auth(Authenticator):
    """Real for keys; `Bearer person:<id>` is somebody, so that nothing here depends on how people's tokens look."""

    def authenticate(self, headers):
        sent = headers.get("Authorization", "")
        if sent.startswith("Bearer person:"):
            user = sent.removeprefix("Bearer person:")
            return Principal(Role.AUTHENTICATED, f"user:{user}", float("inf"), user_id=user)
        return super().authenticate(headers)


class World:
    client: TestClient

    def __init__(self) -> None:
        self.bus = Writer()
        self.pool = Postgres()
        self.nats = Nats()
        self.service = {"apikey": issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())}
        self.anon = {"apikey": issue_api_key(SECRET, Role.ANON, now_s=time.time())}
        self.cron = {"X-Cron-Secret": CRON_SECRET}

    @property
    def analyses(self) -> Scenario:
        return self.bus.analyses

    def user(self, user_id: str = ANN, tests: int = 10) -> None:
        self.bus.do(c.RegisterUser(user_id, tests))

    def stalled(self, user_id: str, *numbers: int) -> None:
        """Tests of a known user that were started just now; let half an hour pass."""
        for number in numbers:
            self.bus.do(c.StartTest(f"00000000-0000-7000-8000-{number:012d}", user_id))

    def person(self, user_id: str = ANN) -> dict[str, str]:
        return {"Authorization": f"Bearer person:{user_id}"}

    async def clean(self, **headers: str) -> ClientResponse:
        return await self.client.post("/api/system/cleanup-tests", headers=headers or self.cron)


@pytest.fixture
async def world(request):
    """With other settings by `@pytest.mark.parametrize("world", [{NAME: value}], indirect=True)`."""
    world = World()
    environ = {
        "DROVER_NATS_URL": "nats://nowhere:1",
        "DROVER_POSTGRES_URL": "postgresql://nowhere/x",
        "DROVER_JWT_SECRETS": SECRET,
        "DROVER_CRON_SECRETS": f"{CRON_SECRET},{OLD_SECRET}",
        **getattr(request, "param", {}),
    }
    world.settings = load(environ)
    app = create_application(Health(), body_bytes_max=world.settings.body_bytes_max)
    edge = CleanupEdge(
        settings=world.settings,
        cleanup=load(environ, CleanupSettings),
        bus=world.bus,
        client=world.nats,
        pool=world.pool,
        freshness=Freshness(Reached(), Newest([Partition("analysis")])),
    )
    add_handlers(app, edge.handlers(), Access.of(world.settings, Auth(world.settings.jwt_secrets)))
    async with TestClient(TestServer(app)) as client:
        world.client = client
        yield world


@pytest.fixture
def logged(monkeypatch):
    # Loggers of their own: one that was used while logging was set up keeps to that.
    monkeypatch.setattr(log_lines, "log", structlog.get_logger("cleanup-tests"))
    monkeypatch.setattr(health, "log", structlog.get_logger("drover.cleanup"))
    with capture_logs() as lines:
        yield lines
