"""A platform behind a proxy that sends clients to another address, such as the one with https."""

from __future__ import annotations

import logging

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from drover.agent.client import PhoneClient, connections
from drover.agent.protocol import Heartbeat
from drover.testing.waiting import eventually
from tests.unit.agent.conftest import SERIAL


@pytest.fixture
async def moved():
    """The address of a proxy, and the requests that came to the address that it names."""
    seen = []

    async def there(request):
        seen.append((request.path, dict(request.headers)))
        return web.json_response([])

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", there)
    async with TestServer(app) as elsewhere:

        async def here(request):
            raise web.HTTPPermanentRedirect(elsewhere.make_url(request.path_qs))

        proxy = web.Application()
        proxy.router.add_route("*", "/{path:.*}", here)
        async with TestServer(proxy) as server:
            yield str(server.make_url("/")), seen


@pytest.mark.req("SE-07")
async def test_a_key_does_not_follow_a_redirect(moved):
    url, seen = moved
    async with connections() as sessions:
        client = PhoneClient(sessions, url, "secret key")
        beat = await client.heartbeat(SERIAL, Heartbeat("online"))
        polled = await client.poll("d1")
        dialled, socket = await client.dial()
    assert (beat.status, polled.status, dialled.status, socket) == (308, 308, 308, None)
    assert not (beat.refused or polled.refused), "it is tried again: a proxy may be mended"
    assert seen == []


@pytest.mark.parametrize("transport", ["socket", "http"])
async def test_a_phone_says_that_the_platform_has_another_address(moved, working, caplog, transport):
    url, _ = moved

    async def idle(work):
        """Do nothing."""

    with caplog.at_level(logging.WARNING, "drover.agent"):
        async with working(idle, url=url, transport=transport):
            await eventually(lambda: "the platform has another address" in caplog.text)
