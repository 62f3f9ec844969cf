"""Every list of `/api` over HTTP, first and second page, at a million events and 10,000 devices: p99 below 50 ms."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from drover.embedded.postgres import postgres_server
from drover.service.process import tune_garbage_collection
from tests.bench.report import Figure, at_most
from tests.filled.fill import fill
from tests.filled.lists import LISTS, READS
from tests.integration.api.reads.desk import Desk, desk_on

EVENTS = 1_000_000
DEVICES = 10_000
BOUND_MS = 50.0
WARM_UP = 12
"""PostgreSQL makes a plan for each of the first five, and may settle on one then."""
REQUESTS = 100
ROUNDS = 3
"""The least disturbed of them counts: a neighbour that wakes up is not ours."""


async def figures() -> list[Figure]:
    tune_garbage_collection()
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="drover-bench-")))
        postgres = await stack.enter_async_context(postgres_server(directory))
        await fill(postgres.dsn, events=EVENTS, devices=DEVICES)
        desk = await stack.enter_async_context(desk_on(postgres.dsn))
        # With a position, even an empty one, the overview is looked up each time.
        desk.service["Drover-Min-Position"] = ""
        paths = (*LISTS, *READS, "/api/overview")
        return [at_most(f"api p99 {_named(path)}", await _p99_ms(desk, path), BOUND_MS, 1.0, "ms") for path in paths]


async def _p99_ms(desk: Desk, path: str) -> float:
    pages = [path]
    if (cursor := (await desk.get(path)).get("next")) is not None:
        pages.append(f"{path}{'&' if '?' in path else '?'}cursor={cursor}")
    for number in range(WARM_UP):
        await desk.get(pages[number % len(pages)])
    rounds = []
    for _ in range(ROUNDS):
        took = []
        for number in range(REQUESTS):
            desk.pool.asked.clear()
            started = time.perf_counter()
            async with desk.client.get(pages[number % len(pages)], headers=desk.service) as answer:
                await answer.read()
            took.append((time.perf_counter() - started) * 1000)
        rounds.append(sorted(took)[int(REQUESTS * 0.99) - 1])
    return min(rounds)


def _named(path: str) -> str:
    """Without the ids, which say nothing."""
    head, _, query = path.partition("?")
    parts = ["{id}" if len(part) == 36 else part for part in head.split("/")]
    asked = "&".join(f"{name}=…" if len(value) > 16 else f"{name}={value}" for name, _, value in _pairs(query))
    return "/".join(parts) + (f"?{asked}" if asked else "")


def _pairs(query: str) -> list[tuple[str, str, str]]:
    return [pair.partition("=") for pair in query.split("&")] if query else []
