"""Every route limits its callers: what is declared is what the services together do."""

from __future__ import annotations

import re
import time
from uuid import UUID

import pytest
from aiohttp.test_utils import TestClient, TestServer

from drover.platform.openapi import all_routes
from drover.service.api_keys import Role, issue_api_key
from drover.web.limits import Limits
from drover.web.route import BY_HANDLER, NOT_LIMITED, Limit
from tests.contract.routes import SECRET, all_services

pytestmark = pytest.mark.req("SE-05")
ROUTES = all_routes()
COUNTED_BY_HANDLERS = {
    "restChangeDevices",  # heartbeats are counted by device
    "restReadJobAssignments",  # so are polls
    "connectAgent",  # so are sockets, and their frames
    "uploadEvidence",  # so are pictures
    "connectRealtime",  # its key may be in the query
    "getRenderFile",  # a ticket does instead of a token
}
PROBES = {"isAlive", "isReady"}
OVER_HTTP = [route for route in ROUTES if route.socket is None and route.limit != NOT_LIMITED]
SELDOM = {"DROVER_REQUESTS_PER_S": "0.001", "DROVER_REQUESTS_BURST": "1"}
"""So seldom that a slow machine does not earn another turn while the test runs."""


async def ask(client: TestClient, route, number: int, **more) -> tuple[int, str | None]:
    path = re.sub(r"{\w+}", "1", route.path)
    key = issue_api_key(SECRET, Role.DEVICE, now_s=time.time(), device_id=UUID(int=number))
    headers = {"apikey": key} if route.caller == "token" else {}
    body = None if route.method == "GET" else {}
    async with client.request(route.method, path, headers=headers, json=body, **more) as answer:
        return answer.status, answer.headers.get("Retry-After")


def test_each_route_declares_how_its_calls_count():
    assert {route.id for route in ROUTES if route.limit == BY_HANDLER} == COUNTED_BY_HANDLERS
    assert {route.id for route in ROUTES if route.limit == NOT_LIMITED} == PROBES
    assert all(route.limit.uses >= 1 for route in ROUTES if isinstance(route.limit, Limit))


async def test_each_route_refuses_a_caller_that_goes_on():
    async with TestClient(TestServer(all_services(**SELDOM))) as client:
        for number, route in enumerate(OVER_HTTP, start=1):
            first, _ = await ask(client, route, number)
            assert first != 429 or route.caller != "token", (route.id, "others are not its business")
            status, retry_after = await ask(client, route, number)
            assert status == 429, route.id
            assert retry_after is not None and int(retry_after) > 60, route.id


POLL = f"/rest/v1/job_assignments?status=eq.pending&device_id=eq.{UUID(int=1)}"
BEAT = "/rest/v1/devices?serial_number=eq.ABC12345"


@pytest.mark.parametrize(
    ("method", "path", "headers", "refusal"),
    [
        ("GET", POLL, {"Accept-Profile": "nonsense"}, 406),
        ("GET", POLL, {"Accept": "text/nonsense"}, 406),
        ("GET", POLL + "&select=jobs(", {}, 400),
        ("PATCH", BEAT, {"Content-Type": "text/plain"}, 415),
    ],
)
async def test_a_bad_request_counts_also_where_handlers_count(method, path, headers, refusal):
    key = {"apikey": issue_api_key(SECRET, Role.DEVICE, now_s=time.time(), device_id=UUID(int=1))}
    async with TestClient(TestServer(all_services(**SELDOM))) as client:
        statuses = [(await client.request(method, path, headers=key | headers, data=b"{}")).status for _ in range(2)]
    assert statuses == [refusal, 429]


@pytest.mark.parametrize(("method", "path"), [("GET", POLL), ("PATCH", BEAT)])
async def test_a_caller_without_the_permission_is_counted_also_where_handlers_count(method, path):
    key = {"apikey": issue_api_key(SECRET, Role.ANON, now_s=time.time())}
    async with TestClient(TestServer(all_services(**SELDOM, DROVER_ANON="off"))) as client:
        statuses = [(await client.request(method, path, headers=key, json={})).status for _ in range(11)]
    assert statuses == [403] * 10 + [429]


async def test_a_ticket_of_a_film_is_counted_by_address():
    (film,) = [route for route in ROUTES if route.id == "getRenderFile"]
    async with TestClient(TestServer(all_services(**SELDOM))) as client:
        assert (await ask(client, film, 1, params={"ticket": "made.up"}))[0] == 403
        assert (await ask(client, film, 2, params={"ticket": "made.up"}))[0] == 429


@pytest.mark.control
async def test_without_the_count_nobody_would_be_refused(monkeypatch):
    for name in ("count", "count_address"):
        monkeypatch.setattr(Limits, name, lambda *args: None)
    async with TestClient(TestServer(all_services(**SELDOM))) as client:
        answers = {route.id: [(await ask(client, route, 1))[0] for _ in range(3)] for route in OVER_HTTP}
    assert not [id_ for id_, statuses in answers.items() if 429 in statuses]
