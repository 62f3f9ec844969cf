"""Binding a port, and letting go of it."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from aiohttp import web

from drover.service.health import Health
from drover.web.application import add_route, create_application
from drover.web.serve import PortInUse, serve


async def test_a_taken_port_is_named_with_what_to_do():
    app = create_application(Health(), body_bytes_max=1024)
    async with serve(app, "127.0.0.1", 0, grace_s=1) as port:
        other = create_application(Health(), body_bytes_max=1024)
        with pytest.raises(PortInUse, match=f"Port {port} on 127.0.0.1 is taken .* choose another port"):
            async with serve(other, "127.0.0.1", port, grace_s=1):
                pass


async def test_leaving_answers_the_request_under_way_and_closes_the_port():
    app = create_application(Health(), body_bytes_max=1024)
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def slow(request: web.Request) -> web.Response:
        arrived.set()
        await go_on.wait()
        return web.Response(text="done")

    add_route(app, "GET", "/slow", slow)
    serving = serve(app, "127.0.0.1", 0, grace_s=10)
    port = await serving.__aenter__()
    async with aiohttp.ClientSession() as session:
        asked = asyncio.create_task(session.get(f"http://127.0.0.1:{port}/slow"))
        await arrived.wait()
        leaving = asyncio.create_task(serving.__aexit__(None, None, None))
        asyncio.get_running_loop().call_later(0.1, go_on.set)
        assert await (await asked).text() == "done"
        await leaving
        with pytest.raises(aiohttp.ClientConnectionError):
            await session.get(f"http://127.0.0.1:{port}/slow")
