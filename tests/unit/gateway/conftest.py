"""A gateway on a real port, with a bus that answers by the fleet's decider and telemetry that remembers."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.fleet.decider import FLEET
from drover.domain.fleet.state import Fleet
from drover.gateway.app import Gateway
from drover.gateway.roster import Roster
from drover.service.api_keys import Role, issue_api_key
from drover.service.config import load
from drover.service.health import Health
from drover.web.application import create_application
from drover.web.auth import Authenticator

SECRET = "s" * 32


class DecidingBus:
    """Stands in for the bus and the writer: decides, evolves, answers, and feeds the roster."""

    def __init__(self, roster: Roster) -> None:
        self.roster = roster
        self.fleet = Fleet()
        self.sent: list[dict[str, Any]] = []
        self.position = 0
        self.answer: Outcome | Exception | None = None
        """What to answer instead."""

    async def send(self, context, command, *, by, id=None, trace=None):
        self.sent.append({"context": context, "command": command, "by": by, "id": id, "trace": trace})
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is not None:
            return self.answer
        now = datetime.now(UTC)
        decision = FLEET.decide(self.fleet, command, now)
        if decision.rejection is not None:
            return Rejected(decision.rejection.code, decision.rejection.message, decision.rejection.details)
        if not decision.events:
            return Accepted(0)
        self.position += 1
        for event in decision.events:
            event.at = now
            self.fleet = FLEET.evolve(self.fleet, event)
            self.roster.apply(event)
        return Accepted(self.position, FLEET.answer(decision.events))


class Beats:
    def __init__(self) -> None:
        self.heard: list[tuple[str, datetime, dict[str, Any] | None]] = []

    def beat(self, device_id, seen_at, reported):
        self.heard.append((device_id, seen_at, reported))


class NoPostgres:
    """The database is down, as it may be at any time."""

    def __init__(self) -> None:
        self.asked = 0

    async def fetchrow(self, query, *args, timeout=None):  # noqa: ASYNC109
        self.asked += 1
        raise ConnectionRefusedError


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
        self.bus = DecidingBus(self.roster)
        self.telemetry = Beats()
        self.pool = NoPostgres()
        self.positions = Reached()
        self.health = Health()
        self.anon = {"apikey": issue_api_key(SECRET, Role.ANON, now_s=time.time())}
        self.service = {"apikey": issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())}

    async def register(self, serial: str = "ABC12345") -> dict[str, Any]:
        row = {"serial_number": serial, "group_id": "P1-G1", "pc_id": "pc-1"}
        headers = self.service | {"Prefer": "return=representation"}
        answer = await self.client.post("/rest/v1/devices", json=row, headers=headers)
        assert answer.status == 201, await answer.text()
        return (await answer.json())[0]


@pytest.fixture
async def world():
    world = World()
    settings = load(
        {
            "DROVER_NATS_URL": "nats://nowhere:1",
            "DROVER_POSTGRES_URL": "postgresql://nowhere/x",
            "DROVER_JWT_SECRETS": SECRET,
        }
    )
    app = create_application(world.health, body_bytes_max=settings.body_bytes_max)
    Gateway(
        settings=settings,
        auth=Authenticator(settings.jwt_secrets),
        bus=world.bus,
        telemetry=world.telemetry,
        roster=world.roster,
        pool=world.pool,
        positions=world.positions,
        roster_at=Reached(),
    ).add_routes(app)
    async with TestClient(TestServer(app)) as client:
        world.client = client
        yield world
