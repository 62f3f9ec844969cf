"""A gateway on a real port, with a bus that answers by the fleet's decider and telemetry that remembers."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

import msgspec
import pytest
from aiohttp import ClientResponse
from aiohttp.test_utils import TestClient, TestServer

from drover.bus.telemetry import Work
from drover.domain.contexts import CONTEXTS
from drover.domain.fleet.commands import CreateJob, MarkOnline, ReportRunning, SendAttempt
from drover.domain.fleet.state import Assignment
from drover.eventlog.log import Partition
from drover.evidence.collection import Evidence
from drover.evidence.settings import EvidenceSettings
from drover.gateway.app import Gateway
from drover.gateway.roster import Roster
from drover.gateway.settings import GatewaySettings
from drover.hosting.service import add_unlisted
from drover.projection.newest import Newest
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.web.access_log import AccessLog
from drover.web.application import add_handlers, create_application
from drover.web.auth import Authenticator
from drover.web.callers import Callers
from drover.web.freshness import Freshness
from drover.web.limits import Limits
from tests.settings import load
from tests.unit.gateway.office import Writer

SECRET = "s" * 32
JOB = "00000000-0000-7000-8000-00000000000a"
POLL = "select=*,jobs(*)&device_id=eq.{}&status=eq.pending&order=assigned_at.asc&limit=1"


class Signs:
    """Telemetry that remembers."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, datetime, dict[str, Any] | None]] = []
        self.work: list[tuple[str, Work]] = []

    def beat(self, device_id, seen_at, reported):
        self.heard.append((device_id, seen_at, reported))

    def progress(self, device_id, seen_at, work):
        self.work.append((device_id, work))


class NoPostgres:
    """The database is down, as it may be at any time, unless a test gives it rows."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] | None = None
        self.asked = 0
        self.parameters: tuple[Any, ...] = ()
        """Of the last statement."""

    async def fetchrow(self, query, *args, timeout=None):  # noqa: ASYNC109
        self.asked += 1
        self.parameters = args
        if self.rows is None:
            raise ConnectionRefusedError
        body = msgspec.json.encode(self.rows).decode()
        return {"body": body, "rows": len(self.rows), "total": len(self.rows), "bytes": len(body)}


class Reached:
    """Positions that hold up to a point."""

    def __init__(self) -> None:
        self.seq = 0
        self.waits: list[tuple[str, int, float]] = []

    async def wait(self, context, seq, timeout_s):
        self.waits.append((context, seq, timeout_s))
        return seq <= self.seq


class World:
    """One gateway and what is around it."""

    client: TestClient

    def __init__(self) -> None:
        self.roster = Roster()
        self.roster.complete = True
        self.bus = Writer(self.roster)
        self.telemetry = Signs()
        self.pool = NoPostgres()
        self.positions = Reached()
        self.roster_at = Reached()
        self.newest = Newest(map(Partition, CONTEXTS), clock=lambda: 0.0)
        """Its clock stands still: on a slow machine a write could become `long_known` while a test runs."""
        self.health = Health()
        self.anon = {"apikey": issue_api_key(SECRET, Role.ANON, now_s=time.time())}
        self.service = {"apikey": issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())}

    def bound(self, device_id: str) -> dict[str, str]:
        """The key of one phone."""
        return {"apikey": issue_api_key(SECRET, Role.DEVICE, now_s=time.time(), device_id=device_id)}

    async def register(self, serial: str = "ABC12345") -> dict[str, Any]:
        row = {"serial_number": serial, "group_id": "P1-G1", "pc_id": "pc-1"}
        headers = self.service | {"Prefer": "return=representation"}
        answer = await self.client.post("/rest/v1/devices", json=row, headers=headers)
        assert answer.status == 201, await answer.text()
        return (await answer.json())[0]

    async def phone(self, serial: str = "ABC12345") -> str:
        """The id of a phone that is registered and heard."""
        device_id = (await self.register(serial))["id"]
        self.bus.do(MarkOnline(device_id))
        self.bus.sent.clear()
        return device_id

    async def phone_with_work(self) -> str:
        """The id of a phone that has an offer."""
        device_id = await self.phone()
        self.job()
        return device_id

    def job(self, job_id: str = JOB) -> None:
        self.bus.do(CreateJob(job_id=job_id, target_url="https://youtu.be/abc", title="Watch this"))

    def offered(self, device_id: str) -> Assignment:
        """What a phone has in hand, by the writer's own state."""
        fleet = self.bus.fleet.state
        return fleet.assignments[fleet.devices[device_id].assignment]

    def running(self, device_id: str) -> Assignment:
        """The same, once it is sent and begun."""
        assignment = self.offered(device_id)
        self.bus.do(SendAttempt(assignment.assignment_id, assignment.run))
        self.bus.do(ReportRunning(assignment.assignment_id, assignment.run, progress_pct=0))
        return assignment

    async def poll(self, device_id: str, *, key: dict[str, str] | None = None, **headers: str) -> ClientResponse:
        url = f"/rest/v1/job_assignments?{POLL.format(device_id)}"
        return await self.client.get(url, headers=(key or self.anon) | headers)

    async def report(self, assignment_id: str, body: Any, *, key: Any = None, **headers: str) -> ClientResponse:
        url = f"/rest/v1/job_assignments?id=eq.{assignment_id}"
        return await self.client.patch(url, json=body, headers=(key or self.anon) | headers)


@pytest.fixture
async def world(request, tmp_path):
    """With other settings by `@pytest.mark.parametrize("world", [{NAME: value}], indirect=True)`."""
    world = World()
    environ = {
        "DROVER_NATS_URL": "nats://nowhere:1",
        "DROVER_POSTGRES_URL": "postgresql://nowhere/x",
        "DROVER_JWT_SECRETS": SECRET,
        "DROVER_ANON": "agent",
        "DROVER_EVIDENCE": str(tmp_path / "evidence"),
        **getattr(request, "param", {}),
    }
    settings = load(environ)
    access_log = AccessLog(Callers()) if settings.access_log else None
    app = create_application(world.health, body_bytes_max=settings.body_bytes_max, access_log=access_log)
    gateway = Gateway(
        settings=settings,
        limits=load(environ, GatewaySettings),
        auth=Authenticator(settings.jwt_secrets),
        bus=world.bus,
        telemetry=world.telemetry,
        roster=world.roster,
        pool=world.pool,
        freshness=Freshness(world.positions, world.newest),
        roster_at=world.roster_at,
        requests=Limits.of(settings),
        evidence=Evidence.of(load(environ, EvidenceSettings)),
    )
    add_handlers(app, gateway.handlers(), gateway.access)
    add_unlisted(app, [gateway.unknown_relation], gateway.access)
    async with TestClient(TestServer(app)) as client:
        world.client = client
        yield world
