"""Core Web Vitals of Overview, Fleet and Queue with 5,000 phones whose rows change, while somebody uses them."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from playwright.async_api import Browser, Page

from drover.api.dashboard import find_dashboard
from drover.bus.connection import connected
from drover.service import logging
from tests.bench.changes import Farm
from tests.bench.dashboard_fleet import Usage
from tests.bench.report import Figure, at_most
from tests.bench.vitals import (
    CLS_GOOD,
    INP_GOOD_MS,
    LCP_GOOD_MS,
    SCRIPT,
    Vitals,
    read_vitals,
    third_quartile,
)
from tests.browser.chromium import SIZE, chromium, find_chromium
from tests.browser.person import Person
from tests.e2e.up import Platform

PCS: Final = 250
COMMANDS_PER_S: Final = 240
"""Half of the phones work, and each changes every ten seconds."""
JOBS: Final = 60
"""That wait, and as many that have ended."""
VISITS: Final = 4
LIVE_S: Final = 120.0
TYPING_MS: Final = 80
BETWEEN_MS: Final = 400
WATCHED_MS: Final = 6_000
"""At the end of a visit nobody touches anything, and nothing may move."""
IS_LIVE: Final = "() => [...document.querySelectorAll('header [role=status]')].some((it) => it.title === 'Live')"


class Hand:
    """Somebody at the page: counts their keys and clicks, and pauses after each as people do."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.made = 0

    async def click(self, selector: str, number: int = 0, **options: object) -> None:
        await self.page.locator(selector).nth(number).click(**options)  # type: ignore[arg-type]
        self.made += 1
        await self.page.wait_for_timeout(BETWEEN_MS)

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.page.keyboard.press(key)
            self.made += 1
            await self.page.wait_for_timeout(TYPING_MS)
        await self.page.wait_for_timeout(BETWEEN_MS)

    async def type(self, text: str) -> None:
        await self.press(*text)

    async def scroll(self, selector: str, times: int = 20) -> None:
        await self.page.locator(selector).first.hover()
        for _ in range(times):
            await self.page.mouse.wheel(0, SIZE["height"] / 4)
            await self.page.wait_for_timeout(TYPING_MS)


async def use_overview(hand: Hand) -> None:
    for label in ("6 h", "15 min"):
        await hand.click(f"main header >> text='{label}'")
    await hand.page.locator("main .uplot").first.hover()
    await hand.page.locator("main [role=slider]").first.focus()
    await hand.press("ArrowLeft", "ArrowLeft", "ArrowLeft", "Escape")
    await hand.press("Control+k")
    await hand.type("SERIAL0000123")
    await hand.press("Escape")
    await hand.scroll("main .page-body", 6)


async def use_fleet(hand: Hand) -> None:
    for number in (3, 30):
        await hand.click(".phone", number)  # opens its panel
    await hand.press("Escape")
    for number in (5, 6, 7):
        await hand.click(".phone", number, modifiers=["Control"])
    await hand.press("ArrowRight", "x", "ArrowRight", "ArrowRight", "Shift+X")
    await hand.press("Escape")
    await hand.press("/")
    await hand.type("SERIAL00001")
    await hand.press(*["Backspace"] * 4)
    await hand.press("Escape")
    legend = "main [role=group][aria-label] > button[aria-pressed]"
    for _ in range(2):
        await hand.click(legend, 0)
    await hand.scroll(".racks")


async def use_queue(hand: Hand) -> None:
    table = "main table"
    await hand.click(f"{table} tbody tr td button", 0)  # opens its panel
    await hand.press("Escape")
    for number in (1, 2, 3):
        await hand.click(f"{table} tbody input[type=checkbox]", number)
    await hand.press("/")
    await hand.type("Order 1")
    await hand.press("Escape", "Escape")
    for _ in range(2):
        await hand.click(f"{table} thead button", 0)
    await hand.scroll("main .page-body")


SCREENS: Final[dict[str, tuple[str, Callable[[Hand], Awaitable[None]]]]] = {
    "overview": ("/", use_overview),
    "fleet": ("/fleet", use_fleet),
    "queue": ("/queue", use_queue),
}


async def figures() -> list[Figure]:
    if find_chromium() is None or find_dashboard() is None:
        _say("left out: it needs chromium, and the dashboard (make dashboard)")
        return []
    logging.configure("console", "warning")
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="drover-bench-")))
        platform = Platform(directory / "data", environ={"DROVER_SIGN_INS_BURST": "1000"})
        stack.push_async_callback(platform.end)
        await platform.ready()
        client = await stack.enter_async_context(connected(platform.credentials["nats_url"], "bench"))
        farm = Farm(client, pcs=PCS)
        await stack.enter_async_context(farm.living())
        await farm.fill()
        await farm.order(JOBS)
        _say(f"{len(farm.devices)} devices online, {farm.events} events")
        await stack.enter_async_context(farm.changing(COMMANDS_PER_S))
        browser = await stack.enter_async_context(chromium())
        found: list[Figure] = []
        for name, (path, use) in SCREENS.items():
            before, usage = farm.events, Usage()
            visits = [await visit(browser, platform, path, use) for _ in range(VISITS)]
            _say(f"{name}: {farm.events - before} events meanwhile; {usage.said()}")
            for one in visits:
                _say(f"LCP {one.lcp_ms:.0f} ms, INP {one.inp_ms:.0f} ms, CLS {one.cls:.3f}; {one.said}")
            found += as_figures(name, visits)
        return found


def as_figures(name: str, visits: list[Vitals]) -> list[Figure]:
    """Three in four visits are as good as this or better: so the limits are meant."""
    return [
        at_most(f"{name} LCP", third_quartile(one.lcp_ms for one in visits), LCP_GOOD_MS, 1.0, "ms"),
        at_most(f"{name} INP", third_quartile(one.inp_ms for one in visits), INP_GOOD_MS, 1.0, "ms"),
        at_most(f"{name} CLS", third_quartile(one.cls for one in visits), CLS_GOOD, 1.0, ""),
    ]


async def visit(browser: Browser, platform: Platform, path: str, use: Callable[[Hand], Awaitable[None]]) -> Vitals:
    """Somebody with an empty cache opens the page, uses it, and watches it for a while."""
    context = await browser.new_context(viewport=SIZE, locale="en-GB")  # type: ignore[arg-type]
    try:
        await context.add_init_script(SCRIPT)
        page = await context.new_page()
        keys = platform.credentials
        await Person(platform.url, context, page).sign_in(keys["admin_email"], keys["admin_password"])
        await page.goto(platform.url + path)
        await page.wait_for_function(IS_LIVE, timeout=LIVE_S * 1000)
        await page.wait_for_timeout(WATCHED_MS)
        hand = Hand(page)
        await use(hand)
        await page.wait_for_timeout(WATCHED_MS)
        return await read_vitals(page, hand.made)
    finally:
        await context.close()


def _say(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)
