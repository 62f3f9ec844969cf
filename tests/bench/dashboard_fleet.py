"""The Fleet screen in a real browser, 10,000 devices, 500 changes a second: no long task, flat heap, quick pixels."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter, defaultdict
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from playwright.async_api import Page

from drover.api.dashboard import find_dashboard
from drover.bus.connection import connected
from drover.service import logging
from tests.bench.changes import Change, Farm
from tests.bench.chromium import LONG_MS, browsing, heap_mb, tracing
from tests.bench.report import Figure, at_least, at_most
from tests.bench.stages import Received, Seen, first_shown, noting_rows, percentile, stages_ms, table
from tests.browser.chromium import SIZE, find_chromium
from tests.e2e.up import Platform

RATE = 500
COMMANDS_PER_S = 480
"""Some are followed by what the platform does by itself."""
WARM_UP_S = 10.0
TRACE_S = 30.0
SCROLL_S = 8.0
"""At its end."""
SCROLL_PX = 120
SCROLL_EVERY_S = 0.1
AFTER_S = 15.0
"""Between two looks at the heap, after the trace."""
LOOKS = 3
LOAD_S = 120.0
PIXEL_MS = 150.0
GROWTH = 1.2
"""Of a dozen megabytes; the last events that were heard come and go. All of them would be many times that."""
SEEN_MIN = 500
"""Changes on screen; with fewer a p95 says little."""

PIXELS = (Path(__file__).parent / "pixels.js").read_text(encoding="utf-8")
IS_LIVE = """() => document.querySelectorAll('[data-device]').length > 0
  && [...document.querySelectorAll('[role=status]')].some((it) => it.title === 'Live')"""
IN_RACKS = "() => [...document.querySelectorAll('.racks [data-device]')].map((phone) => phone.dataset.device)"


async def figures() -> list[Figure]:
    if find_chromium() is None or find_dashboard() is None:
        _say("left out: it needs chromium, and the dashboard (make dashboard)")
        return []
    logging.configure("console", "warning")
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="drover-bench-")))
        platform = Platform(directory / "data")
        stack.push_async_callback(platform.end)
        await platform.ready()
        keys = platform.credentials
        client = await stack.enter_async_context(connected(keys["nats_url"], "bench"))
        farm = Farm(client)
        await stack.enter_async_context(farm.living())
        await farm.fill()
        _say(f"{len(farm.devices)} devices online, {farm.events} events")
        await stack.enter_async_context(farm.changing(COMMANDS_PER_S))
        page, cdp = await stack.enter_async_context(browsing())
        await _sign_in(page, platform.url, keys)
        async with tracing(cdp) as load:
            started = time.perf_counter()
            await page.goto(f"{platform.url}/fleet")
            await page.wait_for_function(IS_LIVE, timeout=LOAD_S * 1000)
            live_s = time.perf_counter() - started
        _say(f"live after {live_s:.1f} s; {load[0].said()}")
        await asyncio.sleep(WARM_UP_S)
        await page.evaluate(PIXELS)
        heaps = [await heap_mb(cdp)]
        watched = set(await page.evaluate(IN_RACKS))
        published = await stack.enter_async_context(noting_rows(client))
        farm.changes, before, began = [], farm.events, time.perf_counter()
        usage = Usage()
        async with tracing(cdp) as trace:
            await asyncio.sleep(TRACE_S - SCROLL_S)
            changes, farm.changes = farm.changes, None
            await _scroll(page, SCROLL_S)
            rate = (farm.events - before) / (time.perf_counter() - began)
            used = usage.said()
        _say(f"{rate:.0f} events/s; {used}; {trace[0].said()}")
        heaps.append(await heap_mb(cdp))
        for _ in range(LOOKS):
            await asyncio.sleep(AFTER_S)
            heaps.append(await heap_mb(cdp))
        shown = shown_changes([change for change in changes if change.device_id in watched], await _seen(page))
        delays = [delay_ms(*pair) for pair in shown]
        assert len(delays) >= SEEN_MIN, f"{len(delays)} changes were seen"
        _say(f"heap {', '.join(f'{mb:.1f}' for mb in heaps)} MB; {farm.refused} commands refused")
        _say(
            f"commit to pixel of {len(delays)} changes: "
            + ", ".join(f"p{q} {percentile(delays, q):.0f}" for q in (50, 95, 99))
        )
        received = await _received(page)
        stages = [stages_ms(change, frame, published, received) for change, frame in shown if frame is not None]
        _say(f"of that (p50/p95 in ms): {table([ms for ms in stages if ms is not None])}")
        return [
            at_least("dashboard changes a second", rate, RATE, 0.95, "events/s"),
            at_most("dashboard longest task while it loads", load[0].longest_ms, LONG_MS, 1.0, "ms"),
            at_most("dashboard longest task in 30 s", trace[0].longest_ms, LONG_MS, 1.0, "ms"),
            at_most("dashboard heap at the end", heaps[-1], heaps[0], GROWTH, "MB"),
            at_most("dashboard commit to pixel p95", percentile(delays, 95), PIXEL_MS, 1.0, "ms"),
        ]


async def _sign_in(page: Page, url: str, keys: dict[str, str]) -> None:
    await page.goto(f"{url}/sign-in")
    await page.fill("input[name=email]", keys["admin_email"])
    await page.fill("input[name=password]", keys["admin_password"])
    await page.click("button[type=submit]")
    await page.wait_for_url(f"{url}/")


async def _scroll(page: Page, seconds: float) -> None:
    """Down through the racks, as somebody does who looks for one."""
    await page.mouse.move(SIZE["width"] / 2, SIZE["height"] / 2)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        await page.mouse.wheel(0, SCROLL_PX)
        await asyncio.sleep(SCROLL_EVERY_S)


class Usage:
    """How busy the machine is, and with what of ours: a neighbour's work shows in every figure."""

    def __init__(self) -> None:
        self._began, self._all, self._own = time.perf_counter(), self._machine(), self._ours()

    def said(self) -> str:
        seconds = time.perf_counter() - self._began
        busy = (self._machine() - self._all) / seconds
        own = {name: (spent - self._own[name]) / seconds for name, spent in self._ours().items()}
        parts = ", ".join(f"{name} {cores:.2f}" for name, cores in sorted(own.items(), key=lambda item: -item[1]))
        return f"{busy:.1f} of {os.cpu_count()} cores busy, {sum(own.values()):.1f} with this ({parts})"

    def _machine(self) -> float:
        times = psutil.cpu_times()
        return float(sum(times) - times.idle - times.iowait - times.guest - times.guest_nice)

    def _ours(self) -> Counter[str]:
        """Seconds of CPU by the name of the program. `drover` and this measurement are both Python."""
        me, spent = psutil.Process(), Counter[str]()
        for process in (me, *me.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                spent["this measurement" if process == me else process.name()] += times.user + times.system
        return spent


async def _seen(page: Page) -> dict[str, list[Seen]]:
    """By device: what its phone showed, in order."""
    seen = defaultdict(list)
    for device, *shown in await page.evaluate("() => window.__seen"):
        seen[device].append(Seen(*shown))
    return seen


async def _received(page: Page) -> list[Received]:
    return [Received(*one) for one in await page.evaluate("() => window.__received")]


def shown_changes(changes: list[Change], seen: dict[str, list[Seen]]) -> list[tuple[Change, Seen | None]]:
    """Each change with the first frame that shows it, or what came after it."""
    by_device: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        by_device[change.device_id].append(change)
    return [
        (change, first_shown(change, own[number + 1 :], seen.get(device, ())))
        for device, own in by_device.items()
        for number, change in enumerate(own)
    ]


def delay_ms(change: Change, shown: Seen | None) -> float:
    """From the commit to the frame. What never came is as late as can be."""
    return float("inf") if shown is None else shown.shown_ms - change.at.timestamp() * 1000


def _say(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)
