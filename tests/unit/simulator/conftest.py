"""A stand-in for the platform that counts what the farm really sends over HTTP."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from drover.simulator.http import Client, connect
from drover.web.serve import serve

ANON_KEY = "anon"
SERVICE_KEY = "service"


@dataclass
class Platform:
    """Registers, takes heartbeats, and does on request what a real one does on a bad day."""

    url: str = ""
    ready_after: int = 0
    pcs: set[str] = field(default_factory=set)
    devices: dict[str, dict] = field(default_factory=dict)
    beats: Counter[str] = field(default_factory=Counter)
    statuses: set[str] = field(default_factory=set)
    posts: list[tuple[str, int]] = field(default_factory=list)
    refuse: Callable[[web.Request], web.Response | None] = lambda request: None
    delay: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0)
    at_once: int = 0
    at_once_max: int = 0

    async def readyz(self, request: web.Request) -> web.Response:
        self.ready_after -= 1
        return web.Response(status=200 if self.ready_after < 0 else 503)

    async def get_pcs(self, request: web.Request) -> web.Response:
        assert request.headers["apikey"] == SERVICE_KEY
        asked = request.query["id"].removeprefix("in.(").removesuffix(")").split(",")
        return web.json_response([{"id": pc} for pc in asked if pc in self.pcs])

    async def post_pcs(self, request: web.Request) -> web.Response:
        if (refusal := self.refuse(request)) is not None:
            return refusal
        rows = await self._rows(request)
        self.pcs |= {row["id"] for row in rows}
        return web.Response(status=201)

    async def post_devices(self, request: web.Request) -> web.Response:
        if (refusal := self.refuse(request)) is not None:
            return refusal
        rows = await self._rows(request)
        taken = any(row["serial_number"] in self.devices for row in rows)
        for row in rows:
            self.devices.setdefault(row["serial_number"], row)
        return web.json_response({"code": "23505"}, status=409) if taken else web.Response(status=201)

    async def _rows(self, request: web.Request) -> list[dict]:
        assert request.headers["apikey"] == SERVICE_KEY
        assert request.headers["Authorization"] == f"Bearer {SERVICE_KEY}"
        rows = await request.json()
        self.posts.append((request.path, len(rows)))
        return rows

    async def patch_devices(self, request: web.Request) -> web.Response:
        self.at_once += 1
        self.at_once_max = max(self.at_once_max, self.at_once)
        await self.delay()
        self.at_once -= 1
        assert request.headers["apikey"] == ANON_KEY
        if (refusal := self.refuse(request)) is not None:
            return refusal
        body = await request.json()
        assert body.keys() == {"last_seen_at", "status"} and body["last_seen_at"].endswith("Z")
        serial = request.query["serial_number"].removeprefix("eq.")
        if serial not in self.devices:
            return web.Response(status=404)
        self.statuses.add(body["status"])
        self.beats[serial] += 1
        return web.Response(status=204)

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator[int]:
        app = web.Application()
        app.router.add_get("/readyz", self.readyz)
        app.router.add_get("/rest/v1/pcs", self.get_pcs)
        app.router.add_post("/rest/v1/pcs", self.post_pcs)
        app.router.add_post("/rest/v1/devices", self.post_devices)
        app.router.add_patch("/rest/v1/devices", self.patch_devices)
        async with serve(app, "127.0.0.1", port, grace_s=1) as taken:
            self.url = f"http://127.0.0.1:{taken}"
            yield taken


@pytest.fixture
async def platform() -> AsyncIterator[Platform]:
    platform = Platform()
    async with platform.serving():
        yield platform


@pytest.fixture
async def client(platform: Platform) -> AsyncIterator[Client]:
    async with connect(platform.url, ANON_KEY, SERVICE_KEY) as client:
        yield client
