"""Cold starts of a service, in turns on two farms: how long until it works, and with how much memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from drover.domain.contexts import CONTEXTS
from drover.testing.waiting import eventually
from tests.bench.report import Figure, at_most
from tests.e2e.apart import Farm

ROUNDS = 3
START_S = 5.0
MORE_AT_MOST = 1.3
WORKS_S = 120.0
WORKS = {"scheduler": ("term_started", 1), "projector": ("projection_active", len(CONTEXTS))}
"""By service, what its log says once it works, and how often: a process is ready before it leads or writes tables."""

_numbers = count()


class Start(NamedTuple):
    took_s: float
    """From the start of the process until it is ready and works."""
    memory_mb: float


async def cold_start(farm: Farm, service: str) -> Start:
    began = time.perf_counter()
    process = await farm.serve(service, name=f"{service}-{next(_numbers)}")
    try:
        said, times = WORKS.get(service, ("", 0))
        await eventually(lambda: process.output.count(said) >= times, WORKS_S, every_s=0.02)
        return Start(time.perf_counter() - began, process.rss_bytes / 1e6)
    finally:
        await process.end()


async def compared(when: str, service: str, short: Farm, long: Farm) -> list[Figure]:
    """Start the service on both farms in turns. The long log must cost at most a little more than the short one."""
    await cold_start(short, service)
    await cold_start(long, service)
    pairs = [(await cold_start(long, service), await cold_start(short, service)) for _ in range(ROUNDS)]
    return list(_figures(f"{when}: {service}", pairs))


def _figures(name: str, pairs: list[tuple[Start, Start]]) -> Iterator[Figure]:
    for what, unit, place in (("start", "s", 0), ("memory", "MB", 1)):
        ours, short = sorted(((a[place], b[place]) for a, b in pairs), key=lambda pair: pair[0] / pair[1])[ROUNDS // 2]
        yield at_most(f"{name}, {what} / short log", ours, short, MORE_AT_MOST, unit)
    slowest = max(start.took_s for start, _ in pairs)
    yield at_most(f"{name}, slowest start", slowest, START_S, 1.0, "s")
