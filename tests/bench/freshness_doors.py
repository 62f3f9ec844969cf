"""Reads right after writes, across keys and doors, at 500 events a second: none may be stale. And what that costs.

Once with everything in one process, once with two gateways, the api, the writer and the projector apart. A read cannot
show a commit before the projector has written it, so the raw limit of a read is its time on a quiet log and the time
from a commit to its rows, both measured on the same platform.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.bus.live import COMMITTED, following_progress
from drover.embedded.nats import nats_server
from drover.embedded.postgres import postgres_server
from drover.service import logging
from tests.bench.report import Figure, at_most
from tests.bench.spine_freshness import EVENTS_PER_S, Delays, changing_pcs, quantile
from tests.e2e.apart import Farm
from tests.e2e.read_after_write import FARM, MANY_SIGN_INS, Doors, Tried, doors_apart, doors_of, tried
from tests.e2e.up import Platform

TRIES = 1_000
QUIET_TRIES = 200
READS = ("device_over_rest", "device_over_api", "why_over_rest", "account_over_rest", "session_over_rest")
"""Those that only read. The others change a row or hash a password."""


async def figures() -> list[Figure]:
    logging.configure("console", "warning")
    found: list[Figure] = []
    for name, place in (("one_process", _one_process), ("apart", _apart)):
        with TemporaryDirectory(prefix="drover-bench-") as directory:
            async with place(Path(directory)) as (doors, nats_url):
                found += await _measured(name, doors, nats_url)
    return found


async def _measured(name: str, doors: Doors, nats_url: str) -> list[Figure]:
    quiet = await tried(doors, QUIET_TRIES, of=FARM, prefix="QUIET")
    delays = Delays()
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(connected(nats_url, "bench"))
        await stack.enter_async_context(following_progress(client, delays.committed, topic=COMMITTED))
        await stack.enter_async_context(following_progress(client, delays.projected))
        await stack.enter_async_context(changing_pcs(CommandBus(client)))
        await asyncio.sleep(1.0)
        delays.took_ms.clear()
        busy = await tried(doors, TRIES)
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    _say(f"{name}: {sum(busy.stale.values())} of {TRIES} stale {dict(busy.stale)}, {busy.behind} said so; load {load}")
    found = [at_most(f"freshness.stale_{name}", sum(busy.stale.values()), TRIES, 0.0, "reads")]
    for label, share in (("p50", 0.5), ("p99", 0.99)):
        value, without, delay = (quantile(times, share) for times in (_reads(busy), _reads(quiet), delays.took_ms))
        _say(f"{name} {label}: {value:.1f} ms at {EVENTS_PER_S} events/s; quiet {without:.1f}, projector {delay:.1f}")
        found.append(at_most(f"freshness.read_{name}_{label}", value, without + delay, 1.5, "ms"))
    return found


def _reads(of: Tried) -> list[float]:
    return [ms for name in READS for ms in of.took_ms.get(name, ())]


@asynccontextmanager
async def _one_process(directory: Path) -> AsyncIterator[tuple[Doors, str]]:
    platform = Platform(directory / "data", environ=MANY_SIGN_INS)
    try:
        await platform.ready()
        async with doors_of(platform) as doors:
            yield doors, platform.credentials["nats_url"]
    finally:
        await platform.end()


@asynccontextmanager
async def _apart(directory: Path) -> AsyncIterator[tuple[Doors, str]]:
    async with nats_server(directory / "nats") as nats, postgres_server(directory / "postgres") as postgres:
        farm = Farm(nats, postgres, directory)
        await farm.migrate()
        try:
            async with doors_apart(farm) as doors:
                yield doors, nats.url
        finally:
            await asyncio.gather(*(process.end() for process in farm.running))


def _say(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)
