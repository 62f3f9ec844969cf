"""The render queue's part of the gateway on a real port: the decider answers, and rows are read from where a test puts
them."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import ClientResponse
from aiohttp.test_utils import TestClient, TestServer

from drover.bus.messages import Outcome
from drover.bus.subject_keys import SubjectKeys
from drover.domain.contexts import CONTEXTS
from drover.domain.decider import Command, Decider
from drover.domain.render import RENDER
from drover.domain.render.state import Render, RenderQueue
from drover.eventlog.log import Partition
from drover.gateway.app import Gateway
from drover.gateway.roster import Roster
from drover.gateway.settings import GatewaySettings
from drover.hosting.service import add_unlisted
from drover.projection.newest import Newest
from drover.service.api_keys import Role
from drover.service.health import Health
from drover.service.sealing import Ring
from drover.testing.scenario import Scenario
from drover.web.application import add_handlers, create_application
from drover.web.audit import Audit
from drover.web.auth import Principal
from drover.web.callers import Callers
from drover.web.freshness import Freshness
from drover.web.gfx_seal import GfxSeal
from tests.settings import load
from tests.subject_keys import Leaders, local_keys
from tests.unit.web.test_audit import Log as AuditLog
from tests.unit.wire import on_the_wire, outcome_of

KEYS = [f"{name}:{base64.b64encode(name.encode() * 16).decode()}" for name in ("k1", "k0")]
SETTINGS = {
    "DROVER_NATS_URL": "nats://nowhere:1",
    "DROVER_POSTGRES_URL": "postgresql://nowhere/x",
    "DROVER_JWT_SECRETS": "s" * 32,
    "DROVER_SEALING_KEYS": KEYS[0],
}
GFX = {
    "composition_name": "_MAIN Mini Chip Count",
    "slots": [{"slot_number": 1, "fields": {"name": "PHIL IVEY", "stack": "250", "country": "United States"}}],
    "single_fields": {"table_id": "Table 1"},
}
SHOW = {"Prefer": "return=representation"}
KEYED = {"Idempotency-Key": "k"}


class AnybodyIs:
    """Takes everybody for whom they say they are: whether they are is shown elsewhere."""

    def authenticate(self, headers):
        role = Role(headers["apikey"])
        return Principal(role, role.value, float("inf"))

    def on_change(self, listener):
        pass


class QueueWriter:
    """Stands in for bus and writer: commands and answers go through their wire form, ids are remembered."""

    def __init__(self, decider: Decider[Any] = RENDER) -> None:
        self.scenario = Scenario(decider)
        self._decider = decider
        self.sent: list[dict[str, Any]] = []
        self._seq = 0
        self._done: dict[str, Outcome] = {}

    async def send(self, context, command, *, by, id=None, trace=None, partition="main"):
        assert context == self._decider.context
        self.sent.append({"command": command, "by": by, "id": id})
        return self.do(command, id)

    def do(self, command: Command, id: str | None = None) -> Outcome:
        if id in self._done:
            return self._done[id]
        decision = self.scenario.when(on_the_wire(command, self._decider.commands)).decision
        self._seq += bool(decision.events)
        outcome = outcome_of(self._decider, decision, self._seq)
        if decision.events and id is not None:
            self._done[id] = outcome
        return outcome

    @property
    def commands(self) -> list[Command]:
        return [sent["command"] for sent in self.sent]

    @property
    def queue(self) -> RenderQueue:
        return self.scenario.state


class Shelf:
    """A database that gives what a test has put there, or is down."""

    def __init__(self) -> None:
        self.rows: Sequence[dict[str, Any]] | None = None
        """None: it is down."""
        self.asked: list[tuple[Any, ...]] = []

    async def fetchrow(self, query, *args, timeout=None):  # noqa: ASYNC109
        self.asked.append((query, *args))
        if self.rows is None:
            raise ConnectionRefusedError
        body = msgspec.json.encode(self.rows).decode()
        return {"body": body, "rows": len(self.rows), "total": None, "bytes": len(body)}


class Reached:
    """Positions that are always reached."""

    def __init__(self) -> None:
        self.waits: list[tuple[str, int, float]] = []

    async def wait(self, context, seq, timeout_s):
        self.waits.append((context, seq, timeout_s))
        return True


class RenderOffice:
    client: TestClient

    def __init__(self, bus: QueueWriter, leaders: Leaders | None = None) -> None:
        self.log = AuditLog()
        self.bus = bus
        self.leaders = leaders or Leaders()
        self.pool = Shelf()
        self.positions = Reached()
        self.said: list[str] = []
        self.heard = True
        """Whether what is said reaches anybody."""

    def keys_of(self, sealing_keys: Sequence[str]) -> SubjectKeys | None:
        if not sealing_keys:
            return None
        return local_keys("render", ring=Ring.from_settings(sealing_keys), leaders=self.leaders)

    async def tell(self, subject: str) -> bool:
        self.said.append(subject)
        return self.heard

    async def ask(
        self, method: str, path: str, body: Any = None, *, role: str = "service_role", **headers: str
    ) -> ClientResponse:
        raw = b"" if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        headers = {"apikey": role, "Content-Type": "application/json"} | headers
        return await self.client.request(method, f"/rest/v1/{path}", data=raw, headers=headers)

    async def request(self, **fields: Any) -> int:
        """The id of a new render."""
        row = {"composition_id": "comp_123", "gfx_data": GFX} | fields
        answer = await self.ask("POST", "render_queue", row, **SHOW)
        assert answer.status == 201, await answer.text()
        return (await answer.json())[0]["id"]

    def render(self, render_id: int = 1) -> Render:
        """As the writer has it."""
        return self.bus.queue.renders[render_id]


@asynccontextmanager
async def open_render_office(
    bus: QueueWriter | None = None, *, leaders: Leaders | None = None, **settings: str
) -> AsyncIterator[RenderOffice]:
    """`bus`: the writer of another context. `leaders`: those who serve the keys of another office."""
    office = RenderOffice(bus or QueueWriter(), leaders)
    app = create_application(Health(), body_bytes_max=1024 * 1024)
    gateway = Gateway(
        settings=load(SETTINGS | settings),
        limits=GatewaySettings(),
        auth=AnybodyIs(),
        bus=office.bus,
        telemetry=None,
        roster=Roster(),
        pool=office.pool,
        freshness=Freshness(office.positions, Newest(map(Partition, CONTEXTS))),
        roster_at=office.positions,
        tell=office.tell,
        audit=Audit(office.log, Callers()),
        render_keys=office.keys_of(load(SETTINGS | settings).sealing_ring("render")),
    )
    add_handlers(app, gateway.handlers(), gateway.access)
    add_unlisted(app, [gateway.unknown_relation], gateway.access)
    async with TestClient(TestServer(app)) as client:
        office.client = client
        yield office


async def opened(office: RenderOffice, gfx_id: str, text: str) -> bytes:
    keys = office.keys_of(KEYS[:1])
    assert keys is not None
    return await GfxSeal(keys).open(gfx_id, text)
