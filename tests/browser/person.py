"""Somebody at the dashboard: a browser of their own, signed in or not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from playwright.async_api import Browser, BrowserContext, Locator, Page, Request, expect

from tests.browser.chromium import SIZE
from tests.e2e.up import Platform

CSRF: Final = {"X-Drover-Csrf": "1"}
WAIT_MS: Final = 40_000
"""For what comes by itself. Long, because the machine may be busy; what comes sooner is taken sooner."""

IS_THERE: Final = """() => {
  const text = document.querySelector("#root").innerText;
  const isThere = document.querySelector("h1, [role=dialog]") !== null;
  return isThere && !/Loading…|Reading…|Connecting…|Looking…|중…/.test(text);
}"""

SCREENS: Final = {
    "overview": "/",
    "fleet": "/fleet",
    "queue": "/queue",
    "renders": "/renders",
    "analyses": "/analyses",
    "reminders": "/reminders",
    "events": "/events",
    "alerts": "/alerts",
    "system": "/system",
}


class Person:
    """One browser with one page in it. Faults of the page are kept: nobody should ever see one."""

    def __init__(self, url: str, context: BrowserContext, page: Page) -> None:
        self.url = url
        self.context = context
        self.page = page
        self.faults: list[str] = []
        self.refreshes = 0
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", self._count)

    def _count(self, request: Request) -> None:
        self.refreshes += request.url.endswith("/api/auth/refresh")

    async def open(self, path: str) -> None:
        await self.page.goto(self.url + path)

    async def fill_in(self, email: str, password: str) -> None:
        """The form of the sign-in page."""
        await self.page.get_by_label("E-mail").fill(email)
        await self.page.get_by_label("Password").fill(password)
        await self.page.get_by_role("button", name="Sign in").click()

    async def sign_in(self, email: str, password: str) -> dict[str, Any]:
        """Without the form; the browser holds the cookie afterwards. What the server answered."""
        body = {"email": email, "password": password}
        answer = await self.context.request.post(f"{self.url}/api/auth/sign-in", data=body, headers=CSRF)
        assert answer.status == 200, await answer.text()
        return await answer.json()

    def button(self, name: str, *, exact: bool = True) -> Locator:
        return self.page.get_by_role("button", name=name, exact=exact)

    def heading(self, name: str) -> Locator:
        return self.page.get_by_role("heading", name=name, exact=True)

    async def press_pair(self, keys: str) -> None:
        """Two keys, the second before the page is done with the first: a busy page must not make a pair too slow."""
        await asyncio.gather(*map(self.page.keyboard.press, keys))

    async def is_there(self) -> None:
        """Waits until nothing loads any more. The live stream never ends, so the network is never idle."""
        await self.page.wait_for_function(IS_THERE, timeout=WAIT_MS)

    async def is_live(self) -> None:
        """Waits until the page follows the farm."""
        await expect(self.page.locator("header").get_by_role("status")).to_have_text("Live")


def admin_of(platform: Platform) -> tuple[str, str]:
    """E-mail and password of the first account."""
    keys = platform.credentials
    return keys["admin_email"], keys["admin_password"]


@asynccontextmanager
async def somebody(browser: Browser, platform: Platform, **options: Any) -> AsyncIterator[Person]:
    """Somebody who has just opened their browser."""
    context = await browser.new_context(**{"viewport": SIZE, "locale": "en-GB", **options})
    context.set_default_timeout(WAIT_MS)
    expect.set_options(timeout=WAIT_MS)
    try:
        person = Person(platform.url, context, await context.new_page())
        yield person
        assert person.faults == [], "the page threw an error"
    finally:
        await context.close()
