"""The lines of a request have a bound: room for long filters, and not for more."""

from __future__ import annotations

import aiohttp
import pytest
from aiohttp import web

from drover.service.health import Health
from drover.web.application import add_route, create_application
from drover.web.serve import REQUEST_LINE_BYTES_MAX, serve

pytestmark = pytest.mark.req("SE-06")


async def reading(request: web.Request) -> web.Response:
    return web.Response(text=str(len(request.query["id"])))


@pytest.fixture
async def url():
    app = create_application(Health(), body_bytes_max=1024)
    add_route(app, "GET", "/reading", reading)
    async with serve(app, "127.0.0.1", 0, grace_s=1) as port:
        yield f"http://127.0.0.1:{port}/reading"


@pytest.mark.parametrize(
    ("chars", "status"), [(REQUEST_LINE_BYTES_MAX - 100, 200), (REQUEST_LINE_BYTES_MAX + 100, 400), (10_000_000, 400)]
)
async def test_a_request_line_has_a_bound(url, chars, status):
    async with aiohttp.ClientSession() as session, session.get(f"{url}?id={'x' * chars}") as answer:
        assert answer.status == status
