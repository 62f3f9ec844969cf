"""Services put together into one process: what they share, as requests see it. Nothing is connected."""

from __future__ import annotations

import asyncio
import base64
import time
from contextlib import AsyncExitStack, suppress
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from nats.aio.client import Client

from drover.bus.audit import SUBJECT as AUDIT
from drover.bus.commits import CommitFeed
from drover.bus.live import Progress
from drover.bus.messages import Accepted
from drover.cli.service_names import PARTS, SERVICES
from drover.domain.contexts import CONTEXTS
from drover.eventlog.log import Partition
from drover.hosting.host import Host
from drover.platform.registry import REGISTRY
from drover.platform.serve import compose
from drover.platform.settings import SECTIONS, load
from drover.projection import readable
from drover.projection.readable import ReadModelRebuilding
from drover.readmodel.form import schema_of
from drover.service.api_keys import Role, issue_api_key
from drover.service.config import Settings
from drover.service.health import Health
from drover.service.lifecycle import Component
from drover.testing.waiting import PATIENCE_S, eventually
from drover.web import freshness
from drover.web.key_book import KeyBook
from drover.web.route import routes_of
from drover.writer import refusals
from drover.writer.writer import Writer

SECRET = "s" * 32
PARTITIONS = {context: (Partition(context),) for context in CONTEXTS} | {
    "reminder": (Partition("reminder", "p0"), Partition("reminder", "p1"))
}
READS = {"api": "/api/reminders", "reminder": "/api/reminder/alarms?user_id=kim"}
"""A read of reminders at each service that has one."""


class Listening(Client):
    """Keeps what is subscribed to. Nothing is connected."""

    def __init__(self) -> None:
        super().__init__()
        self.heard_by: list[Any] = []

    async def subscribe(self, subject: str, cb: Any = None, **more: Any) -> Any:
        self.heard_by.append(cb)
        return SimpleNamespace(unsubscribe=self.nothing)

    async def nothing(self) -> None: ...

    async def request(self, subject: str, *args: Any, **more: Any) -> Any:
        assert subject == AUDIT
        return SimpleNamespace(data=b"{}")

    async def hear(self, partition: Partition, seq: int, *, form: str | None = None) -> None:
        """A projector announces how far it is. `form`: the schema that it writes, if it is not that of this program."""
        data = msgspec.json.encode(Progress(partition.name, seq))
        for callback in self.heard_by:
            await callback(SimpleNamespace(subject=f"live.{form or schema_of(partition.context)}", data=data))


class EmptyPool:
    """Has no rows, except that every read model has caught up, or all but some."""

    def __init__(self, *building: str) -> None:
        self._building = building

    async def fetch(self, query: str, *args: Any, **more: Any) -> list[Any]:
        if "is_caught_up" not in query:
            return []
        every = [partition for several in PARTITIONS.values() for partition in several]
        return [
            {
                "schema": schema_of(one.context),
                "partition": one.name,
                "seq": 7,
                "created_at": None,
                "is_caught_up": one.context not in self._building,
                "is_in_use": True,
            }
            for one in every
        ]

    async def fetchrow(self, *args: Any, **more: Any) -> dict[str, Any]:
        return {"body": "[]", "rows": 0, "total": None}

    async def execute(self, *args: Any, **more: Any) -> str:
        return "UPDATE 1"


@pytest.fixture(autouse=True)
def _keys_are_known(monkeypatch):
    """No bucket of keys is followed here: which keys are good is not what these tests are about."""
    monkeypatch.setattr(KeyBook, "check_current", lambda book: None)


def host_of(client: Client, *services: str, pool: Any = None) -> Host:
    configuration = load(
        {
            "DROVER_NATS_URL": "nats://nowhere",
            "DROVER_POSTGRES_URL": "postgresql://nowhere/x",
            "DROVER_JWT_SECRETS": SECRET,
            "DROVER_IDENTITY_SECRETS": "i" * 32,
            "DROVER_SEALING_KEYS": f"k1:{base64.b64encode(b'k' * 32).decode()}",
        }
    )
    return Host(configuration, client, pool or EmptyPool(), services=services, partitions=PARTITIONS)


def composed(client: Client, *services: str, health: Health | None = None) -> tuple[web.Application, list[Component]]:
    return compose(host_of(client, *services), health or Health())


@pytest.mark.parametrize(("service", "path"), READS.items())
async def test_a_read_that_names_a_position_waits_for_the_partition_that_lags(service, path, monkeypatch):
    monkeypatch.setattr(freshness, "HARD_WAIT_S", 0.05)
    client = Listening()
    app, components = composed(client, service)
    caller = {"apikey": issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())}
    async with AsyncExitStack() as stack:
        for component in components:
            if "positions" in component.name:
                await stack.enter_async_context(component.context)
        http = await stack.enter_async_context(TestClient(TestServer(app)))

        async def read() -> tuple[int, Any]:
            async with http.get(path, headers=caller | {"Drover-Min-Position": "reminder=50"}) as answer:
                return answer.status, await answer.json()

        ahead, lagging = PARTITIONS["reminder"]
        await client.hear(ahead, 100)
        status, body = await read()
        assert (status, body.get("error")) == (503, "READ_MODEL_BEHIND"), "of the other partition nothing was heard yet"
        await client.hear(lagging, 49)
        assert (await read())[0] == 503
        for form in ("rm_reminder_00000000", "reminder"):
            await client.hear(lagging, 50, form=form)
            assert (await read())[0] == 503, "a projector of another release has it"
        await client.hear(lagging, 50)
        assert (await read())[0] == 200


READS_OF_TWO = {
    "api": ("/api/devices", "/api/renders"),
    "gateway": ("/rest/v1/devices", "/rest/v1/render_queue"),
}
"""Reads of fleet and of render at each service that has both."""


@pytest.mark.req("YR-08")
@pytest.mark.parametrize("service", READS_OF_TWO)
async def test_a_process_with_the_projector_is_ready_and_refuses_only_reads_of_what_is_being_built(
    service, monkeypatch
):
    monkeypatch.setattr(CommitFeed, "sync", _in_sync)
    monkeypatch.setattr(Host, "_end_of", _a_hundred)
    monkeypatch.setattr(readable, "START_S", 0.0)
    health = Health()
    app, _ = compose(host_of(Listening(), service, "projector", pool=EmptyPool("fleet")), health)
    assert "read models" not in health.not_ready()
    caller = {"apikey": issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())}
    built, whole = READS_OF_TWO[service]
    async with TestClient(TestServer(app)) as http:
        async with http.get(built, headers=caller) as answer:
            body = await answer.json()
            assert (answer.status, body.get("error", body.get("code"))) == (503, "READ_MODEL_REBUILDING")
            assert body["details"] == {"context": "fleet", "position": 7, "end": 100}
            assert answer.headers["Retry-After"] == "2"
        async with http.get(whole, headers=caller) as answer:
            assert answer.status == 200


@pytest.mark.req("YR-08")
@pytest.mark.parametrize(("building", "is_ready"), [(["fleet"], False), ([], True)])
async def test_an_edge_without_the_projector_is_ready_when_all_read_models_are_complete(
    building, is_ready, monkeypatch
):
    monkeypatch.setattr(Host, "_end_of", _a_hundred)
    health = Health()
    host = host_of(Listening(), "gateway", pool=EmptyPool(*building))
    compose(host, health)
    assert "read models" in health.not_ready(), "it has not looked yet"
    with suppress(ReadModelRebuilding):
        await host.forms.demand(CONTEXTS)
    assert ("read models" not in health.not_ready()) is is_ready


async def _in_sync(feed: CommitFeed, contexts: tuple[str, ...]) -> bool:
    return True  # there is no NATS to ask


async def _a_hundred(host: Host, context: str) -> int:
    return 100


class Accepting:
    """Accepts every command at this position."""

    def __init__(self, position: int) -> None:
        self._position = position

    async def send(self, *_: Any, **more: Any) -> Accepted:
        return Accepted(self._position)


@pytest.mark.parametrize(("service", "path"), [("api", "/api/analyses"), ("gateway", "/rest/v1/users")])
async def test_a_read_waits_for_what_was_written_at_another_service_of_the_process(service, path, monkeypatch):
    monkeypatch.setattr(CommitFeed, "sync", _in_sync)
    monkeypatch.setattr(Host, "bus", Accepting(50))
    monkeypatch.setattr(freshness, "SOFT_WAIT_S", PATIENCE_S)
    client = Listening()
    host = host_of(client, "cleanup", service)
    app, components = compose(host, Health())
    caller = {"apikey": issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())}
    async with AsyncExitStack() as stack:
        for component in components:
            if "positions" in component.name:
                await stack.enter_async_context(component.context)
        http = await stack.enter_async_context(TestClient(TestServer(app)))
        async with http.post("/api/saju/users", json={"user_id": "kim"}, headers=caller) as written:
            assert written.status == 201
        read = asyncio.ensure_future(http.get(path, headers=caller))
        await eventually(lambda: host.positions.waiting == 1)
        await client.hear(Partition("analysis"), 50)
        (await read).close()


def test_every_service_is_offered_by_the_command():
    assert [name for name, one in REGISTRY.items() if not one.is_part] == [*SERVICES]
    assert [name for name, one in REGISTRY.items() if one.is_part] == [*PARTS]


def test_every_section_that_a_service_needs_is_among_all_settings():
    assert {section for service in REGISTRY.values() for section in service.settings} == {*SECTIONS} - {Settings}


@pytest.mark.parametrize("services", [("scheduler",), ("scheduler", "gateway")])
async def test_a_writer_that_cannot_write_is_said_and_takes_no_routes_away(services, monkeypatch):
    health, name = Health(), "writer of fleet/main"
    composed(Listening(), *services, health=health)
    assert name not in health.not_ready() | health.degraded()
    refusal = refusals.append_unsettled(Partition("fleet"), 9, "no answer in time")
    monkeypatch.setattr(Writer, "refusal", lambda writer: refusal)
    said, not_said = health.not_ready(), health.degraded()
    if "gateway" in services:
        said, not_said = not_said, said
    assert said[name] == str(refusal)
    assert name not in not_said


@pytest.mark.req("YR-07")
@pytest.mark.parametrize("services", [("scheduler",), ("scheduler", "gateway")])
async def test_a_process_is_ready_only_when_the_state_of_its_writer_is_loaded(services, monkeypatch):
    health, name = Health(), "state of fleet/main"
    composed(Listening(), *services, health=health)
    assert health.not_ready()[name] == "The state of fleet/main is not loaded yet."
    monkeypatch.setattr(Writer, "why_not_ready", lambda writer: None)
    assert name not in health.not_ready()


@pytest.mark.req("YR-07")
@pytest.mark.parametrize("services", [("scheduler",), ("scheduler", "gateway")])
async def test_routes_stay_available_while_a_writer_loads_its_state_again(services, monkeypatch):
    health, name = Health(), "state of fleet/main"
    loaded = asyncio.Event()
    monkeypatch.setattr(Writer, "why_not_ready", lambda writer: None if loaded.is_set() else "loading")
    monkeypatch.setattr(Writer, "__init__", remembering(Writer.__init__, made := []))
    composed(Listening(), *services, health=health)
    (writer,) = made
    assert name in health.not_ready()
    writer.loaded.set()
    assert (name in health.not_ready()) == ("gateway" not in services)


def remembering(init: Any, made: list[Any]) -> Any:
    def remember(self: Any, *args: Any, **more: Any) -> None:
        made.append(self)
        init(self, *args, **more)

    return remember


def test_services_with_routes_of_their_own_take_requests():
    """`/readyz` of their processes stays 200 when a writer is stuck (docs/operations.md, "Health")."""
    taking = {name for name, service in REGISTRY.items() if service.takes_requests}
    assert taking == {
        name
        for name, service in REGISTRY.items()
        if any(route.permission is not None for route in routes_of(*service.handlers))
    }
