"""Who may call each route: what is declared is what the services together do."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from aiohttp.test_utils import TestClient, TestServer

from drover.platform.openapi import all_routes
from drover.service.access_tokens import PEOPLE, issue_access_token
from drover.service.api_keys import Role, issue_api_key
from drover.service.identity_keys import IdentityKeys
from drover.web.access import Access
from drover.web.auth import Principal
from drover.web.permissions import TABLE
from drover.web.route import BY_HANDLER, Permission
from tests.contract.routes import SECRET, all_services

pytestmark = pytest.mark.req("EV-09")
ROUTES = all_routes()
DEVICE = "00000000-0000-4000-8000-000000000001"
KEYS = (Role.ANON, Role.DEVICE, Role.SERVICE_ROLE)
IDENTITY = IdentityKeys((SECRET,))
"""The keys of `KnownKeys`."""
CHECKED_BY_HANDLERS = {
    "streamRows",
    "connectRealtime",  # each channel has the rights of its own token
    "broadcast",  # any valid key on public channels; private ones need a permission
    "broadcastEvent",
    "connectAgent",  # a bad key is told with the code that closes the socket
    "getRenderFile",  # a ticket does instead of a token
    "restAsk",  # each function has a permission of its own
    "restCall",
    "uploadEvidence",  # counted by device, like a report
    "restChangeDevices",  # the heartbeat: it needs the columns that are granted, and nothing more in its way
    *(route.id for route in ROUTES if route.id.startswith("restRead")),  # so does the poll
}
WITHOUT_A_TOKEN = {
    "cleanUpTests",
    "enrol",  # the code in the body is the credential
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


def credentials() -> dict[Role, dict[str, str]]:
    """The headers by which a caller of each role is known."""
    now_s = time.time()
    keys = {
        role: issue_api_key(SECRET, role, now_s=now_s, device_id=UUID(DEVICE) if role is Role.DEVICE else None)
        for role in KEYS
    }
    tokens = {
        role: issue_access_token(IDENTITY, account_id="kim", session_id="s", role=role, now_s=now_s, lifetime_s=600)
        for role in PEOPLE
    }
    people = {role: {"Authorization": f"Bearer {token}"} for role, token in tokens.items()}
    return {role: {"apikey": key} for role, key in keys.items()} | people


OPEN_IN_THE_CLEAR = WITHOUT_A_TOKEN - {"cleanUpTests", "enrol", "gotrueToken", "refresh", "signIn", "signOut"}
"""Routes that take no credentials: probes, metrics, public keys, the OpenAPI document."""


@pytest.mark.req("SE-07")
async def test_whoever_calls_over_plain_http_from_another_machine_is_refused_wherever_credentials_are_taken(client):
    # Forwarded by a program on this machine that is not a trusted proxy: it counts as another machine.
    headers = {"X-Forwarded-Proto": "http", "apikey": issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())}
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==",
    }
    open_in_the_clear = set()
    for route in ROUTES:
        status, text = await refusal(client, route, **headers, **(upgrade if route.socket else {}))
        if (status, "HTTPS_REQUIRED" in text) != (403, True):
            open_in_the_clear.add(route.id)
    assert open_in_the_clear == OPEN_IN_THE_CLEAR
    for method in ("GET", "POST"):
        async with client.request(method, "/rest/v1/no_such_table", headers=headers) as answer:
            assert (answer.status, (await answer.json())["code"]) == (403, "HTTPS_REQUIRED")


@pytest.mark.req("SE-07")
async def test_pages_are_open_over_plain_http(client):
    async with client.get("/", headers={"X-Forwarded-Proto": "http"}) as answer:
        assert "HTTPS_REQUIRED" not in await answer.text()


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
        for role, headers in credentials().items():
            relation, verb, own = route.permission
            relation = own if own and role in PEOPLE else relation
            if (role, relation, verb) in granted and not (role is Role.ANON and relation == "jobs"):
                continue
            status, text = await refusal(client, route, **headers)
            assert status == 403, (route.id, role)
            assert "42501" in text and f'"relation":"{relation}"' in text and f'"verb":"{verb}"' in text
            tried.add((route.id, role in PEOPLE))
    assert {id_ for id_, _ in tried} == {route.id for route in GUARDED}, "of each, somebody was refused"
    refused_to_people = {id_ for id_, by_person in tried if by_person}
    assert {"eraseEvidence", "acknowledgeAlert", "exportAudit", "listKeys", "createEnrolment"} <= refused_to_people


async def test_people_send_no_pictures_of_failures(client):
    """The handler checks this route itself, because it counts by device."""
    (upload,) = [route for route in ROUTES if route.id == "uploadEvidence"]
    path = upload.path.format(assignment_id=DEVICE)
    refused = set()
    for role, headers in credentials().items():
        async with client.post(path, headers=headers, data=b"") as answer:
            refused |= {role} if answer.status == 403 else set()
    assert refused == {*PEOPLE}


@pytest.mark.control
async def test_without_what_a_route_declares_anybody_would_be_let_in(monkeypatch):
    nobody = Principal(role=Role.ANON, name="nobody", expires_at=0.0)
    monkeypatch.setattr(Access, "guard", lambda self, route, handler: lambda request: handler(request, nobody))
    keys = next(route for route in GUARDED if route.id == "getKeyRing")
    async with TestClient(TestServer(all_services())) as client:
        assert (await refusal(client, keys))[0] == 200
