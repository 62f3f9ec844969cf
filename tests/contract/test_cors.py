"""Pages of listed origins may call what the services together declare, except what takes a cookie."""

from __future__ import annotations

import re

import pytest
from aiohttp.test_utils import TestClient, TestServer

from drover.platform.openapi import all_routes
from drover.web.cors import ALLOWED, EXPOSED, OPEN
from drover.web.same_origin import COOKIE_PATH
from tests.contract.routes import all_services

pytestmark = pytest.mark.req("SE-14")
APP = "https://app.example.com"
ROUTES = [route for route in all_routes() if route.socket is None]
CLOSED = {"getMetrics", "getWorkerHealth", "isAlive", "isReady", "pollForRenders", "uploadEvidence"}
"""Probes, and what agents send: no page asks for these."""


async def test_every_route_may_be_called_by_a_listed_page_and_shows_it_its_refusals():
    closed = set()
    async with TestClient(TestServer(all_services(DROVER_CORS_ORIGINS=APP))) as client:
        for route in ROUTES:
            path = re.sub(r"{\w+}", "1", route.path)
            asked = {"Origin": APP, "Access-Control-Request-Method": route.method}
            told = await client.options(path, headers=asked)
            answer = await client.request(route.method, path, headers={"Origin": APP}, json={})
            permitted = {one.headers.get("Access-Control-Allow-Origin") for one in (told, answer)}
            if permitted == {None}:
                closed.add(route.id)
                continue
            assert permitted == {APP}, route.id
            assert told.status == 204, route.id
            assert route.method in told.headers["Access-Control-Allow-Methods"], route.id
            if route.caller == "token":
                assert answer.status == 401, route.id
    assert closed == CLOSED | {route.id for route in ROUTES if route.path.startswith(f"{COOKIE_PATH}/")}
    assert {route.path.startswith(OPEN) for route in ROUTES if route.id in CLOSED} == {False}


def test_every_declared_header_may_be_sent_and_read():
    sent = {one.name.lower() for route in ROUTES for one in route.parameters if one.place == "header"}
    assert sent <= {name.lower() for name in ALLOWED}
    read = {name.lower() for route in ROUTES for answer in route.answers.values() for name in answer.headers}
    assert read <= {name.lower() for name in EXPOSED}
