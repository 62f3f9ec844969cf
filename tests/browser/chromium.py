"""The system's Chromium: where it is, and how it is started. Nothing is ever downloaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from playwright.async_api import Browser, async_playwright

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
VARIABLE: Final = "DROVER_CHROMIUM"
MISSING: Final = f"no Chromium here: `apt-get install chromium`, or name one in {VARIABLE}"
FLAGS: Final = (
    "--no-sandbox",  # CI is root in a container
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SIZE: Final = {"width": 1440, "height": 900}
PHONE: Final[dict[str, Any]] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
"""How a browser on a phone differs from one on a desk."""


def find_chromium() -> str | None:
    named = os.environ.get(VARIABLE)
    return shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    executable = find_chromium()
    assert executable is not None, MISSING
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=list(FLAGS), headless=True)
        try:
            yield browser
        finally:
            await browser.close()
