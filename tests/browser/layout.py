"""What somebody could not see, read or tap on a page, as it is laid out now. The looking is done in `layout.js`."""

from __future__ import annotations

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


async def layout_faults(page: Page, *, by_finger: bool = True) -> list[str]:
    """`by_finger`: False for somebody with a mouse, who can hit what is smaller."""
    return await page.evaluate(LOOK, OPTIONS if by_finger else {**OPTIONS, "tapMin": 0})
