"""What a route declares is checked before its handler is called."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.auth import Authenticator, Principal
from drover.web.callers import Callers
from drover.web.permissions import Permissions, Verb
from drover.web.route import Answer, Permission, Route, handles, routes_of

SECRET = "s" * 32
DONE = {200: Answer(str)}


def route(path: str, **more) -> Route:
    return Route(method="GET", path=path, id=path, tag="test", summary="A test", answers=DONE, **more)


class Handlers:
    @handles(route("/open", caller="anybody"))
    async def open(self, request: web.Request) -> web.Response:
        return web.Response(text="anybody")

    @handles(route("/private", caller="anybody", https=True))
    async def private(self, request: web.Request) -> web.Response:
        return web.Response(text="in private")

    @handles(route("/status", permission=Permission("status", Verb.READ)))
    async def status(self, request: web.Request, principal: Principal) -> web.Response:
        return web.Response(text=principal.name)

    @handles(route("/alarms", permission=Permission("alarm", Verb.READ, own="my_alarms")))
    async def alarms(self, request: web.Request, principal: Principal) -> web.Response:
        return web.Response(text=principal.name)

    async def not_declared(self, request: web.Request) -> web.Response:
        raise AssertionError("it has no route")


class AnyPerson(Authenticator):
    """Believes whoever says `person`."""

    def authenticate(self, headers):
        if headers.get("Authorization") == "person":
            return Principal(role=Role.VIEWER, name="user:kim", expires_at=float("inf"), user_id="kim")
        return super().authenticate(headers)


@pytest.fixture
async def client():
    app = create_application(Health(), body_bytes_max=1024)
    add_handlers(app, [Handlers()], Access(AnyPerson([SECRET]), Permissions(), Callers()))
    async with TestClient(TestServer(app)) as client:
        yield client


async def ask(client, path, role=None, **headers):
    if role is not None:
        headers["apikey"] = issue_api_key(SECRET, role, now_s=time.time())
    async with client.get(path, headers=headers) as answer:
        return answer.status, await answer.text()


async def test_a_route_for_anybody_asks_nothing(client):
    assert await ask(client, "/open") == (200, "anybody")


async def test_a_declared_permission_is_checked_and_the_handler_is_told_who_calls(client):
    assert await ask(client, "/status", Role.SERVICE_ROLE) == (200, "service_role")
    assert (await ask(client, "/status"))[0] == 401
    assert (await ask(client, "/status", Role.ANON))[0] == 403


async def test_a_person_needs_the_permission_for_their_own(client):
    assert await ask(client, "/alarms", Authorization="person") == (200, "user:kim"), "who has no right to all alarms"
    assert await ask(client, "/alarms", Role.SERVICE_ROLE) == (200, "service_role")
    assert (await ask(client, "/alarms", Role.ANON))[0] == 403


async def test_a_route_that_wants_https_is_refused_in_the_clear(client):
    assert await ask(client, "/private") == (200, "in private"), "from this machine"
    status, text = await ask(client, "/private", **{"X-Forwarded-Proto": "http"})
    assert status == 403
    assert "HTTPS_REQUIRED" in text


@pytest.mark.req("SE-07")
async def test_a_route_that_takes_a_token_is_refused_in_the_clear_before_the_token_is_looked_at(client):
    for role in (None, Role.ANON, Role.SERVICE_ROLE):
        status, text = await ask(client, "/status", role, **{"X-Forwarded-Proto": "http"})
        assert (status, "HTTPS_REQUIRED" in text) == (403, True), role
    assert await ask(client, "/open", Role.ANON, **{"X-Forwarded-Proto": "http"}) == (200, "anybody")


def test_a_guarded_route_cannot_be_added_without_its_guard():
    app = create_application(Health(), body_bytes_max=1024)
    with pytest.raises(AssertionError, match="GET /private needs access control"):
        add_handlers(app, [Handlers()])


def test_a_route_without_a_guard_is_its_handler_and_nothing_more():
    handler = Handlers().open
    access = Access(SimpleNamespace(), Permissions(), Callers())
    plain = next(one for one in routes_of(Handlers) if one.path == "/open")
    assert access.guard(plain, handler) is handler


def test_the_routes_of_a_class_are_those_that_its_methods_declare():
    assert [one.path for one in routes_of(Handlers)] == ["/open", "/private", "/status", "/alarms"]


@pytest.mark.parametrize("more", [{"caller": "token"}, {"caller": "anybody", "permission": Permission("x", Verb.READ)}])
def test_a_route_says_who_may_call_it_in_one_way(more):
    with pytest.raises(TypeError, match="has a permission"):
        route("/x", **more)
