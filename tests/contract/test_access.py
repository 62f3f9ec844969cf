"""Who may call each route: what is declared is what the services together do."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from aiohttp.test_utils import TestClient, TestServer

from drover.platform.openapi import all_routes
from drover.service.api_keys import Role, issue_api_key
from drover.web.access import Access
from drover.web.auth import Principal
from drover.web.permissions import TABLE
from drover.web.route import BY_HANDLER, Permission
from tests.contract.routes import SECRET, all_services

pytestmark = pytest.mark.req("EV-09")
ROUTES = all_routes()
DEVICE = "00000000-0000-4000-8000-000000000001"
KEYS = (Role.ANON, Role.DEVICE, Role.SERVICE_ROLE)
CHECKED_BY_HANDLERS = {
    "streamRows",
    "connectRealtime",  # each channel has the rights of its own token
    "broadcast",  # any valid key on public channels; private ones need a permission
    "broadcastEvent",
    "connectAgent",  # a bad key is told with the code that closes the socket
    "getRenderFile",  # a ticket does instead of a token
    "restAsk",  # each function has a permission of its own
    "restCall",
    "restChangeDevices",  # the heartbeat: it needs the columns that are granted, and nothing more in its way
    *(route.id for route in ROUTES if route.id.startswith("restRead")),  # so does the poll
}
WITHOUT_A_TOKEN = {
    "cleanUpTests",
    "getJwks",
    "getMetrics",
    "getOpenapi",
    "getSystemHealth",
    "getVapidKey",
    "getWorkerHealth",
    "gotrueToken",
    "isAlive",
    "isReady",
    "pollForRenders",  # wakes idle workers, at most once a second; tells nothing
    "refresh",
    "signIn",
    "signOut",
}
GUARDED = [route for route in ROUTES if isinstance(route.permission, Permission)]


@pytest.fixture
async def client() -> AsyncIterator[TestClient]:
    async with TestClient(TestServer(all_services())) as client:
        yield client


async def refusal(client, route, **headers):
    path = re.sub(r"{\w+}", "1", route.path)
    async with client.request(route.method, path, headers=headers, json={}) as answer:
        return answer.status, await answer.text()


def test_the_permission_of_a_route_is_declared_but_for_these():
    assert {route.id for route in ROUTES if route.permission == BY_HANDLER} == CHECKED_BY_HANDLERS


def test_these_routes_and_no_others_are_open_without_a_token():
    assert {route.id for route in ROUTES if route.caller != "token"} == WITHOUT_A_TOKEN


async def test_nobody_without_a_token_gets_further_than_401(client):
    for route in ROUTES:
        if route.caller == "token" and route.socket is None:
            assert (await refusal(client, route))[0] == 401, route.id


async def test_a_role_that_is_not_granted_what_a_route_declares_is_refused(client):
    granted = {(grant.role, grant.relation, grant.verb) for rule in TABLE for grant in rule.grants()}
    tried = set()
    for route in GUARDED:
        relation, verb, _ = route.permission
        for role in KEYS:
            if (role, relation, verb) in granted and not (role is Role.ANON and relation == "jobs"):
                continue
            device = UUID(DEVICE) if role is Role.DEVICE else None
            key = issue_api_key(SECRET, role, now_s=time.time(), device_id=device)
            status, text = await refusal(client, route, apikey=key)
            assert status == 403, (route.id, role)
            assert "42501" in text and f'"relation":"{relation}"' in text and f'"verb":"{verb}"' in text
            tried.add(route.id)
    everybody_may = {"restChangeJobAssignments"}  # every key may report
    assert tried == {route.id for route in GUARDED} - everybody_may, "of each, somebody was refused"


@pytest.mark.control
async def test_without_what_a_route_declares_anybody_would_be_let_in(monkeypatch):
    nobody = Principal(role=Role.ANON, name="nobody", expires_at=0.0)
    monkeypatch.setattr(Access, "guard", lambda self, route, handler: lambda request: handler(request, nobody))
    keys = next(route for route in GUARDED if route.id == "getKeyRing")
    async with TestClient(TestServer(all_services())) as client:
        assert (await refusal(client, keys))[0] == 200
