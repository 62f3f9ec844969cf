"""Heartbeats over HTTP through the whole gateway; against an aiohttp handler that reads its body and answers 204."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import uvloop
from aiohttp import web

from drover.bus.audit import NatsRecorder
from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.bus.telemetry import TelemetryOut
from drover.domain.fleet.events import DeviceRegistered, PcRegistered
from drover.embedded.nats import nats_server
from drover.eventlog.log import Partition
from drover.gateway.app import Gateway
from drover.gateway.roster import Roster
from drover.gateway.settings import GatewaySettings
from drover.hosting.service import add_unlisted
from drover.projection.newest import Newest
from drover.projection.positions import Positions
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.service.process import tune_garbage_collection
from drover.web.access_log import AccessLog
from drover.web.application import add_handlers, create_application
from drover.web.audit import Audit
from drover.web.auth import Authenticator
from drover.web.callers import Callers
from drover.web.freshness import Freshness
from drover.web.serve import serve
from tests.bench.report import Figure, at_least, side_by_side
from tests.settings import load

CONNECTIONS = 50
DEVICES = 10_000
BURST_S = 0.5
SECRET = "s" * 32
BODY = b'{"last_seen_at":"2026-01-29T10:30:00Z","status":"online"}'
ROUNDS = 25  # many short bursts in turns: a neighbour that wakes up hits both alike


async def _bare_application(nats_url: str, stack: AsyncExitStack) -> web.Application:
    async def handler(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(status=204)

    app = web.Application()
    app.router.add_patch("/rest/v1/devices", handler)
    return app


async def _gateway_application(nats_url: str, stack: AsyncExitStack) -> web.Application:
    client = await stack.enter_async_context(connected(nats_url, "bench"))
    roster = Roster()
    roster.apply([PcRegistered("pc", 20, at=datetime.now(UTC))], 1)
    for number in range(DEVICES):
        device_id = f"00000000-0000-7000-8000-{number:012d}"
        device = DeviceRegistered(device_id, f"SER{number:08d}", "P1-G1", "pc", [], at=datetime.now(UTC))
        roster.apply([device], number + 2)
    telemetry = TelemetryOut(client, "fleet", "bench")
    await stack.enter_async_context(telemetry.running())
    audit = Audit(NatsRecorder(client), Callers())
    app = create_application(Health(), body_bytes_max=1 << 20, access_log=AccessLog(Callers()), audit=audit)
    nobody: Any = None  # heartbeats do not touch Postgres
    environ = {
        "DROVER_NATS_URL": nats_url,
        "DROVER_POSTGRES_URL": "postgresql://nowhere/x",
        "DROVER_JWT_SECRETS": SECRET,
        # Each phone here beats as often as thousands do: they are counted, and none is refused.
        "DROVER_DEVICE_REQUESTS_PER_S": "1000000",
        "DROVER_DEVICE_REQUESTS_BURST": "1000000",
    }
    gateway = Gateway(
        settings=load(environ),
        limits=load(environ, GatewaySettings),
        auth=Authenticator([SECRET]),
        bus=CommandBus(client),
        telemetry=telemetry,
        roster=roster,
        pool=nobody,
        freshness=Freshness(Positions([Partition("fleet")]), Newest([Partition("fleet")])),
        roster_at=Positions([Partition("fleet")]),
    )
    add_handlers(app, gateway.handlers(), gateway.access)
    add_unlisted(app, [gateway.unknown_relation], gateway.access)
    return app


APPLICATIONS = {"bare": _bare_application, "gateway": _gateway_application}


def _server_process(kind: str, nats_url: str, pipe: Any) -> None:
    async def main() -> None:
        tune_garbage_collection()
        async with AsyncExitStack() as stack:
            app = await APPLICATIONS[kind](nats_url, stack)
            port = await stack.enter_async_context(serve(app, "127.0.0.1", 0, grace_s=1))
            pipe.send(port)
            await asyncio.get_running_loop().run_in_executor(None, pipe.recv)

    uvloop.run(main())


class _Agent(asyncio.Protocol):
    """A keep-alive connection that sends its next heartbeat as soon as the last one is answered."""

    def __init__(self, number: int, key: str) -> None:
        head = (
            f"PATCH /rest/v1/devices?serial_number=eq.SER{number:08d} HTTP/1.1\r\nHost: bench\r\napikey: {key}\r\n"
            f"Authorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n"
        )
        self._request = head.encode() + BODY
        self.answered = 0
        self.going = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def go(self) -> None:
        self.going = True
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        assert data.startswith(b"HTTP/1.1 204"), data
        self.answered += 1
        if self.going:
            self._transport.write(self._request)


async def _burst(agents: list[_Agent]) -> float:
    before, started = sum(agent.answered for agent in agents), time.perf_counter()
    for agent in agents:
        agent.go()
    await asyncio.sleep(BURST_S)
    for agent in agents:
        agent.going = False
    rate = (sum(agent.answered for agent in agents) - before) / (time.perf_counter() - started)
    await asyncio.sleep(0.05)
    return rate


async def figures() -> list[Figure]:
    context = multiprocessing.get_context("spawn")
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="drover-bench-")))
        nats = await stack.enter_async_context(nats_server(directory))
        agents: dict[str, list[_Agent]] = {}
        loop = asyncio.get_running_loop()
        for kind in APPLICATIONS:
            here, there = context.Pipe()
            process = context.Process(target=_server_process, args=(kind, nats.url, there))
            process.start()
            stack.callback(process.join, 10)
            stack.callback(here.send, None)
            port = await loop.run_in_executor(None, here.recv)
            key = issue_api_key(SECRET, Role.ANON, now_s=time.time())
            agents[kind] = [
                (await loop.create_connection(lambda number=number, key=key: _Agent(number, key), "127.0.0.1", port))[1]
                for number in range(CONNECTIONS)
            ]
        ours, limit = await side_by_side(
            lambda: _burst(agents["gateway"]), lambda: _burst(agents["bare"]), rounds=ROUNDS
        )
        return [at_least("spine.heartbeats_http", ours, limit, 0.7, "requests/s")]
