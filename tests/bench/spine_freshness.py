"""Reads that show every write, at 500 events a second; against reads that wait for nothing plus the projector's delay.

A read cannot show a commit before the projector has written it. So the raw limit is the time of a read that does not
wait and the time from a commit to its rows, both measured in the same run. What is above it is the cost of waiting.
On a quiet log nothing is waited for: there the cost is the ping that makes sure of it.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp

from drover.bus.client import CommandBus
from drover.bus.commits import CommitFeed
from drover.bus.connection import connected
from drover.bus.live import COMMITTED, WANTED, announce, announcing, following_progress
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import RegisterPc
from drover.embedded.nats import nats_server
from drover.embedded.postgres import postgres_server
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.eventlog.streams import last_seq
from drover.gateway.app import Gateway
from drover.gateway.roster import Roster
from drover.gateway.settings import GatewaySettings
from drover.postgres.migrate import migrate
from drover.postgres.pool import open_pool
from drover.projection.newest import Newest
from drover.projection.positions import Positions, asking
from drover.projector.app import Projector
from drover.projector.fleet import FLEET_PROJECTION
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.service.process import tune_garbage_collection
from drover.testing.waiting import eventually
from drover.web.application import add_handlers, create_application
from drover.web.auth import Authenticator
from drover.web.freshness import Freshness
from drover.web.serve import serve
from drover.writer.nats_writer import nats_writer, prepare
from tests.bench.report import Figure, at_most
from tests.settings import load

EVENTS_PER_S = 500
BURST_EVERY_S = 0.02
PCS = 200
READERS = 5
PAUSE_S = 0.02
ROUND_S = 3.0
ROUNDS = 5
READY_S = 30.0
SECRET = "s" * 32
FLEET_ONLY = (Partition(FLEET.context),)


class Delays:
    """How long commits take to reach the read model, as a process that hears both announcements sees it."""

    def __init__(self) -> None:
        self.took_ms: list[float] = []
        self._committed: dict[int, float] = {}

    def committed(self, context: str, partition: str, seq: int) -> None:
        if context == FLEET.context:
            self._committed[seq] = time.perf_counter()

    def projected(self, schema: str, partition: str, seq: int) -> None:
        now = time.perf_counter()
        for done in [one for one in self._committed if schema == FLEET_PROJECTION.schema and one <= seq]:
            self.took_ms.append((now - self._committed.pop(done)) * 1000)


async def figures() -> list[Figure]:
    tune_garbage_collection()
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="drover-bench-")))
        nats = await enter(nats_server(directory / "nats"))
        postgres = await enter(postgres_server(directory / "postgres"))
        await migrate(postgres.dsn)
        client = await enter(connected(nats.url, "bench"))
        await prepare(client, (FLEET.context,))
        await enter(nats_writer(client, FLEET, instance="bench").running())
        projector = Projector(
            partial(JetStreamLog, client), postgres.dsn, partial(announce, client), projections=(FLEET_PROJECTION,)
        )
        await enter(projector)
        await enter(following_progress(client, projector.hurry, topic=WANTED))
        await eventually(lambda: all(runner.active for runner in projector.runners), READY_S)
        delays = Delays()
        await enter(following_progress(client, delays.committed, topic=COMMITTED))
        await enter(following_progress(client, delays.projected))
        # The door has a connection of its own, as a process of its own would have.
        door = await enter(connected(nats.url, "door"))
        feed = CommitFeed(door, partial(last_seq, door))
        newest = Newest(FLEET_ONLY, feed.sync)
        await enter(feed.running(newest))
        waiting = await enter(_gateway(door, nats.url, postgres.dsn, newest))
        plain = await enter(_gateway(door, nats.url, postgres.dsn, Newest(FLEET_ONLY)))
        session = await enter(aiohttp.ClientSession())
        quiet, quiet_bare = await _in_turns(session, waiting, plain)
        found = [
            at_most("spine.read_quiet_p50", quantile(quiet, 0.5), quantile(quiet_bare, 0.5), 1.5, "ms"),
        ]
        await enter(changing_pcs(CommandBus(client)))
        await _in_turns(session, waiting, plain, rounds=1)
        delays.took_ms.clear()
        busy, busy_bare = await _in_turns(session, waiting, plain)
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            value, without, delay = (quantile(times, share) for times in (busy, busy_bare, delays.took_ms))
            print(f"  {name}: {value:.1f} ms, without waiting {without:.1f}, delay {delay:.1f}", file=sys.stderr)
            found.append(at_most(f"spine.read_after_write_{name}", value, without + delay, 1.2, "ms"))
        return found


async def _in_turns(
    session: aiohttp.ClientSession, waiting: str, plain: str, rounds: int = ROUNDS
) -> tuple[list[float], list[float]]:
    """The times of both kinds of reads. In turns, so that a busy neighbour slows both alike."""
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(rounds):
        ours += await _round(session, waiting)
        bare += await _round(session, plain)
    return ours, bare


@asynccontextmanager
async def _gateway(client: Any, nats_url: str, dsn: str, newest: Newest) -> AsyncIterator[str]:
    environ = {"DROVER_NATS_URL": nats_url, "DROVER_POSTGRES_URL": dsn, "DROVER_JWT_SECRETS": SECRET}
    settings = load(environ)
    positions = Positions(FLEET_ONLY, ask=asking(announcing(client, WANTED)))
    nobody: Any = None  # reads need no telemetry

    def observe(schema: str, partition: str, seq: int) -> None:
        assert schema == FLEET_PROJECTION.schema
        positions.observe(FLEET.context, partition, seq)

    async with open_pool(dsn, "bench") as pool, following_progress(client, observe):
        gateway = Gateway(
            settings=settings,
            limits=GatewaySettings(),
            auth=Authenticator([SECRET]),
            bus=CommandBus(client),
            telemetry=nobody,
            roster=Roster(),
            pool=pool,
            freshness=Freshness(positions, newest),
            roster_at=positions,
        )
        app = create_application(Health(), body_bytes_max=1 << 20)
        add_handlers(app, gateway.handlers(), gateway.access)
        async with serve(app, "127.0.0.1", 0, grace_s=1) as port:
            yield f"http://127.0.0.1:{port}/rest/v1/pcs?id=eq.pc-1"


@asynccontextmanager
async def changing_pcs(bus: CommandBus) -> AsyncIterator[None]:
    """Change PCs at the given rate, each with one event."""

    async def run() -> None:
        sent, started = 0, time.perf_counter()
        sending: set[asyncio.Future[Any]] = set()
        while True:
            while sent < (time.perf_counter() - started) * EVENTS_PER_S:
                command = RegisterPc(f"pc-{sent % PCS}", 19 + sent // PCS % 2)
                future = bus.send(FLEET.context, command, by="bench")
                sending.add(future)
                future.add_done_callback(sending.discard)
                sent += 1
            await asyncio.sleep(BURST_EVERY_S)

    task = asyncio.create_task(run())
    try:
        yield
        assert not task.done(), task.exception()
    finally:
        task.cancel()


async def _round(session: aiohttp.ClientSession, url: str) -> list[float]:
    """The times of reads by several readers, in ms."""
    took: list[float] = []
    headers = {"apikey": issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())}
    until = time.perf_counter() + ROUND_S

    async def read() -> None:
        while (started := time.perf_counter()) < until:
            async with session.get(url, headers=headers) as answer:
                assert answer.status == 200, await answer.text()
                assert "Drover-Behind" not in answer.headers
                await answer.read()
            took.append((time.perf_counter() - started) * 1000)
            await asyncio.sleep(PAUSE_S)

    await asyncio.gather(*(read() for _ in range(READERS)))
    return took


def quantile(times: list[float], share: float) -> float:
    return sorted(times)[int(len(times) * share)]
