"""What somebody could not see, read or tap on a page, as it is laid out now. The looking is done in `layout.js`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from playwright.async_api import Page

LOOK: Final = Path(__file__).with_name("layout.js").read_text()
OPTIONS: Final = {
    # WCAG 2.2, 2.5.8: the least that a finger hits.
    "tapMin": 24,
    # Of a text that is shortened at least this much is left, and in a field there is so much room for what is written.
    "readableMin": 72,
    # These may scroll sideways by themselves.
    "sideways": "pre",
}


# A page is live: a row arrives, or a menu is still without its place, while we look. A fault is what remains.
SETTLES_S: Final = 5.0
LOOK_EVERY_S: Final = 0.25


async def layout_faults(page: Page, *, by_finger: bool = True) -> list[str]:
    """`by_finger`: False for somebody with a mouse, who can hit what is smaller."""
    options = OPTIONS if by_finger else {**OPTIONS, "tapMin": 0}
    deadline = asyncio.get_running_loop().time() + SETTLES_S
    while (faults := await page.evaluate(LOOK, options)) and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(LOOK_EVERY_S)
    return faults
