"""The back office's part of the gateway on a real port: the decider answers, and what agents report is noted only."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import ClientResponse
from aiohttp.test_utils import TestClient, TestServer

from drover.bus.messages import Accepted, Outcome
from drover.domain.decider import Command
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import MarkOnline, RegisterDevice, ReportRunning, SendAttempt
from drover.domain.fleet.validation import validate
from drover.eventlog.log import Partition
from drover.gateway.gfx_data import GfxData
from drover.gateway.limits import DeviceLimits
from drover.gateway.personal_data import PersonalData
from drover.gateway.read_pools import ReadPools
from drover.gateway.reports import Reports
from drover.gateway.roster import Roster
from drover.gateway.rpc import Rpc
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.handler import Tables
from drover.gateway.writes.stored_rows import StoredRows
from drover.projection.newest import Newest
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.testing.scenario import Scenario
from drover.web.access import Access
from drover.web.alarm_texts import AlarmTexts
from drover.web.application import add_handlers, create_application
from drover.web.auth import Authenticator
from drover.web.callers import Callers
from drover.web.commands import CommandClient
from drover.web.forgotten import ForgottenWork
from drover.web.forgotten_kinds import FLEET_WORK
from drover.web.freshness import Freshness, Waiter
from drover.web.permissions import Permissions
from tests.unit.wire import on_the_wire, outcome_of

SECRET = "s" * 32
URL = "https://youtu.be/abc"
BODY_BYTES_MAX = 1024 * 1024


def device_id(number: int) -> str:
    return f"00000000-0000-7000-9000-{number:012}"


class Writer:
    """Stands in for bus and writer: commands and answers go through their wire form, and the roster hears of all."""

    def __init__(self, roster: Roster) -> None:
        self.fleet = Scenario(FLEET)
        self.sent: list[dict[str, Any]] = []
        self.answer: Outcome | Exception | None = None
        """What to answer instead."""
        self.roster_hears = True
        self._roster = roster
        self._seq = 0

    async def send(self, context, command, *, by, id=None, trace=None, partition="main"):
        self.sent.append({"context": context, "command": command, "by": by, "id": id, "trace": trace})
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.do(command) if self.answer is None else self.answer

    def do(self, command: Command) -> Outcome:
        decision = self.fleet.when(on_the_wire(command, FLEET.commands)).decision
        if decision.events:
            self._seq += 1
            if self.roster_hears:
                self._roster.apply(decision.events, self._seq)
        return outcome_of(FLEET, decision, self._seq)

    @property
    def commands(self) -> list[Command]:
        return [sent["command"] for sent in self.sent]


class Notes:
    """Stands in for `Reports`."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, Any, dict[str, Any]]] = []
        self.answers: dict[str, Accepted | Exception] = {}
        """By assignment; nothing to write down otherwise."""

    async def submit(self, principal, assignment_id, body, **rest):
        self.taken.append((assignment_id, body, rest))
        answer = self.answers.get(assignment_id)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Here:
    """Positions that are always reached."""

    def __init__(self) -> None:
        self.waits: list[tuple[str, int, float]] = []
        self.meanwhile: Callable[[], None] = lambda: None
        """What happens while somebody waits."""

    async def wait(self, context, seq, timeout_s):
        self.waits.append((context, seq, timeout_s))
        self.meanwhile()
        return True


def fleet_freshness(positions: Waiter) -> Freshness:
    return Freshness(positions, Newest([Partition(FLEET.context)], clock=lambda: 0.0))


def fleet_client(bus: Any, positions: Waiter, roster_at: Waiter) -> CommandClient:
    return CommandClient(bus, FLEET.context, freshness=fleet_freshness(positions), local=roster_at, validate=validate)


class Shelf:
    """A read model that gives what a test has put there, or is down."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] | None = None
        """None: it is down."""
        self.total: int | None = None
        """How many rows match; None: those that are there."""
        self.asked: list[tuple[Any, ...]] = []

    async def fetchrow(self, query, *args, timeout=None):  # noqa: ASYNC109
        self.asked.append((query, *args))
        if self.rows is None:
            raise ConnectionRefusedError
        body = msgspec.json.encode(self.rows).decode()
        total = len(self.rows) if self.total is None else self.total
        return {"body": body, "rows": len(self.rows), "total": total, "bytes": len(body)}


class Ears:
    """Telemetry that remembers whom it heard."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def beat(self, device_id, seen_at, reported):
        self.heard.append(device_id)

    def progress(self, device_id, seen_at, work):
        self.heard.append(device_id)


class Office:
    client: TestClient

    def __init__(self) -> None:
        self.roster = Roster()
        self.roster.complete = True
        self.bus = Writer(self.roster)
        self.reports = Notes()
        self.roster_at = Here()
        self.newest = Newest([Partition(FLEET.context)], clock=lambda: 0.0)
        """Its clock stands still: on a slow machine a write could become `long_known` while a test runs."""
        self.positions = Here()
        self.freshness = Freshness(self.positions, self.newest)
        self.pool = Shelf()
        self.telemetry = Ears()
        self.anon = {"apikey": issue_api_key(SECRET, Role.ANON, now_s=time.time())}
        self.service = {"apikey": issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())}

    async def ask(self, method: str, path: str, body: Any = None, *, key: Any = None, **headers: str) -> ClientResponse:
        """A request with the service key; `key`: with another."""
        raw = b"" if body is None else msgspec.json.encode(body)
        headers = (self.service if key is None else key) | {"Content-Type": "application/json"} | headers
        return await self.client.request(method, f"/rest/v1/{path}", data=raw, headers=headers)

    def phones(self, *numbers: int, pc: str = "PC-01", group: str = "P1-G1") -> None:
        for number in numbers:
            self.bus.do(RegisterDevice(device_id(number), f"SERIAL{number:04}", group, pc))
            self.bus.do(MarkOnline(device_id(number)))

    async def job(self, **fields: Any) -> str:
        answer = await self.ask("POST", "jobs", {"target_url": URL} | fields, Prefer="return=representation")
        assert answer.status == 201, await answer.text()
        return (await answer.json())[0]["id"]

    def on(self, number: int) -> str:
        """The assignment that a phone has in hand."""
        assignment_id = self.roster.fleet.devices[device_id(number)].assignment
        assert assignment_id is not None
        return assignment_id

    def start(self, number: int) -> str:
        assignment_id = self.on(number)
        self.bus.do(SendAttempt(assignment_id, 1))
        self.bus.do(ReportRunning(assignment_id))
        return assignment_id


@asynccontextmanager
async def open_office(
    *, anon_may_create_jobs: bool = False, anon: Any = "agent", jobs_for: Any = "all", reports: bool = False
) -> AsyncIterator[Office]:
    """`reports`: with what really handles reports, instead of notes of them."""
    office = Office()
    auth = Authenticator([SECRET])
    permissions = Permissions(anon=anon, anon_may_create_jobs=anon_may_create_jobs)
    forgotten = ForgottenWork(
        office.pool, FLEET, FLEET_WORK, is_known=office.roster.knows_work, clock=lambda: office.bus.fleet.now
    )
    fleet = CommandClient(
        office.bus,
        FLEET.context,
        freshness=office.freshness,
        local=office.roster_at,
        validate=validate,
        recall=forgotten.answer,
    )
    limits = DeviceLimits(office.bus, per_s=1000, burst=1000)
    real = Reports(office.roster, fleet, office.telemetry, limits)
    edge = Edge(
        permissions=permissions,
        pool=office.pool,
        pools=ReadPools(office.pool, 8),
        freshness=office.freshness,
        stored=StoredRows(office.pool),
        roster=office.roster,
        reports=real if reports else office.reports,
        telemetry=office.telemetry,
        limits=limits,
        gfx_data=None,
        alarm_texts=None,
        personal_data=PersonalData(permissions, GfxData(None), AlarmTexts(None)),
        jobs_for=jobs_for,
        fleet=fleet,
        render=None,
        analysis=None,
        reminder=None,
    )
    app = create_application(Health(), body_bytes_max=BODY_BYTES_MAX)
    handlers = [
        Tables(edge),
        Rpc(
            permissions,
            fleet,
            office.roster,
            office.freshness.of(office.roster_at),
            office.telemetry,
            forgotten,
            lambda: office.bus.fleet.now,
        ),
    ]
    add_handlers(app, handlers, Access(auth, permissions, Callers()))
    async with TestClient(TestServer(app)) as client:
        office.client = client
        yield office
