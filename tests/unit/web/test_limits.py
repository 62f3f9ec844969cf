"""Each caller has a limit of its own: by principal, and by address only for those who have none."""

from __future__ import annotations

import time
from uuid import UUID

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client import REGISTRY

from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.auth import Authenticator, Principal
from drover.web.callers import Callers
from drover.web.errors import ApiError
from drover.web.limits import PERSONAL, SHARES, TELL_AFTER, Limits
from drover.web.permissions import Permissions, Verb
from drover.web.route import Answer, Limit, Permission, Route, handles

pytestmark = pytest.mark.req("SE-05")
SECRET = "s" * 32
PER_S, BURST = 1, 10


def route(path: str, **more) -> Route:
    return Route(method="GET", path=path, id=path, tag="test", summary="A test", answers={200: Answer(str)}, **more)


class Handlers:
    @handles(route("/open", caller="anybody"))
    async def open(self, request: web.Request) -> web.Response:
        return web.Response()

    @handles(route("/jobs", permission=Permission("jobs", Verb.READ)))
    async def jobs(self, request: web.Request, principal: Principal) -> web.Response:
        return web.Response()

    @handles(route("/accounts", permission=Permission("accounts", Verb.READ)))
    async def accounts(self, request: web.Request, principal: Principal) -> web.Response:
        raise AssertionError("a phone may not read this")

    @handles(route("/heavy", permission=Permission("jobs", Verb.READ), limit=Limit(uses=5)))
    async def heavy(self, request: web.Request, principal: Principal) -> web.Response:
        return web.Response()


class World:
    def __init__(self) -> None:
        self.now = 0.0
        self.limits = Limits(PER_S, BURST, clock=lambda: self.now)
        self.limits.claimed_device = lambda request: {"D1": "d1", "D2": "d2"}.get(request.query.get("id", ""))
        self.client: TestClient

    async def ask(self, path: str, role: Role | None = None, *, device: int = 1, key: str | None = None) -> int:
        bound = {"device_id": UUID(int=device)} if role is Role.DEVICE else {}
        key = key or (issue_api_key(SECRET, role, now_s=time.time(), **bound) if role else None)
        async with self.client.get(path, headers={"apikey": key} if key else {}) as answer:
            self.retry_after = answer.headers.get("Retry-After")
            return answer.status

    async def allowed(self, path: str, role: Role | None = None, **more) -> int:
        """How many requests are served until one is refused. Gives up where nobody would be."""
        for served in range(100 * BURST):
            status = await self.ask(path, role, **more)
            if status == 429:
                return served
            assert status in (200, 401), status
        raise AssertionError("nothing was refused")


@pytest.fixture
async def world():
    world = World()
    app = create_application(Health(), body_bytes_max=1024, limits=world.limits)
    access = Access(Authenticator([SECRET]), Permissions(), Callers(), world.limits)
    add_handlers(app, [Handlers()], access)
    async with TestClient(TestServer(app)) as client:
        world.client = client
        yield world


def refused(kind: str, path: str) -> float:
    return REGISTRY.get_sample_value("drover_limited_uses_total", {"principal": kind, "route": path}) or 0


async def test_a_caller_is_limited_and_told_when_to_come_back(world):
    before = refused("device", "/jobs")
    assert await world.allowed("/jobs", Role.DEVICE) == BURST * SHARES[Role.DEVICE]
    assert world.retry_after == "2", "half a request a second"
    assert refused("device", "/jobs") == before + 1
    world.now = 2.0
    assert await world.ask("/jobs", Role.DEVICE) == 200


async def test_phones_of_one_address_do_not_limit_each_other(world):
    await world.allowed("/jobs", Role.DEVICE, device=1)
    assert await world.allowed("/jobs", Role.DEVICE, device=2) == BURST * SHARES[Role.DEVICE]


async def test_the_anon_key_is_counted_by_the_device_that_it_claims_to_be(world):
    assert await world.allowed("/jobs?id=D1", Role.ANON) == BURST / 2
    assert await world.ask("/jobs?id=D2", Role.ANON) == 200


async def test_devices_that_nobody_knows_share_one_limit(world):
    for made_up in range(100):
        assert await world.ask(f"/jobs?id=made-up-{made_up}", Role.ANON) == 200
    assert await world.ask("/jobs?id=another", Role.ANON) == 429
    assert await world.ask("/jobs?id=D1", Role.ANON) == 200, "a known phone is not held up by them"


async def test_a_heavy_route_counts_as_several_requests(world):
    assert await world.allowed("/heavy", Role.DEVICE) == 1


async def test_who_has_no_right_is_counted_too(world):
    assert [await world.ask("/accounts", Role.DEVICE) for _ in range(6)] == [403] * 5 + [429]


async def test_callers_without_a_token_are_counted_by_address(world):
    assert await world.allowed("/open") == BURST


async def test_failed_authentication_is_limited_by_address_and_nothing_else_is(world):
    assert await world.allowed("/jobs", key="wrong") == 4
    assert await world.allowed("/jobs", key="wrong again") == 0, "whatever is guessed"
    assert await world.ask("/jobs", Role.DEVICE) == 200, "who has a key is served at the same address"
    assert refused("address", "/jobs") >= 2


@pytest.mark.control
async def test_without_a_count_of_failures_keys_can_be_tried_without_end(world, monkeypatch):
    monkeypatch.setattr(Limits, "count_failure", lambda *args: None)
    assert [await world.ask("/jobs", key="wrong") for _ in range(50)] == [401] * 50


async def test_a_caller_that_goes_on_is_named_once_an_hour(world):
    told = []
    world.limits.tell = told.append
    for _ in range(5 + TELL_AFTER):
        await world.ask("/jobs?id=D1", Role.ANON)
    assert told == []
    await world.ask("/jobs?id=D1", Role.ANON)
    assert told == ["anon:d1"]
    for _ in range(TELL_AFTER):
        await world.ask("/jobs?id=D1", Role.ANON)
        await world.ask("/jobs", key="wrong")
    assert told == ["anon:d1"], "an address is not named: it is personal data"


def person(name: str, role: Role = Role.VIEWER) -> Principal:
    return Principal(role=role, name=name, expires_at=float("inf"))


def test_one_person_cannot_hold_all_streams_of_a_process():
    limits, held = Limits(), []
    for _ in range(PERSONAL[Role.VIEWER]):
        limits.check_room(person("user:kim"))
        held.append(limits.holding(person("user:kim")))
        held[-1].__enter__()
    with pytest.raises(ApiError) as error:
        limits.check_room(person("user:kim"))
    assert (error.value.status, error.value.headers["Retry-After"]) == (429, "10")
    limits.check_room(person("user:lee"))
    held.pop().__exit__(None, None, None)
    limits.check_room(person("user:kim"))


def test_a_key_that_many_programs_share_may_have_many_streams():
    limits = Limits()
    for _ in range(1000):
        limits.holding(person("service_role", Role.SERVICE_ROLE)).__enter__()
    limits.check_room(person("service_role", Role.SERVICE_ROLE))
