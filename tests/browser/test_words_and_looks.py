"""Korean and English, light and dark: on every screen, and still after a reload."""

from __future__ import annotations

import re
from typing import Final

import pytest
from playwright.async_api import expect

from tests.browser.person import SCREENS, admin_of

pytestmark = pytest.mark.asyncio(loop_scope="package")

# Names are the same in every language; the rest is what the farm itself calls its things.
NAMES: Final = {
    "Drover", "English", "PC", "NATS", "Postgres", "PostgreSQL", "CSV", "JSON", "NAS", "MP4", "URL", "SSE", "HTTP",
    "ID",
}  # fmt: skip
WORD: Final = re.compile(r"[A-Za-z][A-Za-z']+")

# What is written around the data: titles, the menu, buttons, captions, heads of columns, fields, hints.
CHROME: Final = """() => {
  const texts = [];
  const around = "h1, h2, nav a, thead th, legend, label, .caption, header [role=status]";
  const parts = `${around}, main button, main [role=tab], option`;
  for (const part of document.querySelectorAll(parts)) {
    if (part.closest("td, [role=cell], tbody, table input, .racks, aside, .font-mono, li")) continue;
    if (part.checkVisibility()) texts.push(part.innerText ?? "");
    texts.push(part.getAttribute("aria-label") ?? "", part.getAttribute("title") ?? "");
  }
  for (const box of document.querySelectorAll("main input:not(table input)")) {
    texts.push(box.placeholder, box.ariaLabel ?? "");
  }
  return texts.filter((text) => text.trim() !== "");
}"""


async def test_korean_is_chosen_once_and_no_english_is_left_around_the_data(admin):
    await admin.open("/")
    await admin.is_live()
    await admin.button("Signed in as", exact=False).click()
    await admin.page.get_by_role("menuitemradio", name="한국어").click()
    await expect(admin.page.get_by_role("heading", level=1)).to_have_text("현황")
    await expect(admin.page.locator("html")).to_have_attribute("lang", "ko")
    rests = {}
    for name, path in SCREENS.items():
        await admin.open(path)  # a reload each time: it is kept
        await expect(admin.page.locator("header").get_by_role("status").first).to_have_text("실시간")
        await expect(admin.page.get_by_role("heading", level=1)).to_have_text(re.compile("[가-힣]"))
        texts = await admin.page.evaluate(CHROME)
        assert len(texts) > len(SCREENS), "something was looked at"
        rests[name] = {text for text in texts if set(WORD.findall(text)) - NAMES}
    assert {name: rest for name, rest in rests.items() if rest} == {}


async def test_dark_is_chosen_and_kept_and_the_system_is_followed_otherwise(admin, another, platform):
    html = admin.page.locator("html")
    await admin.open("/")
    await admin.is_live()
    await expect(html).to_have_attribute("data-theme", "light")
    light = await background(admin)
    await admin.page.keyboard.press("t")
    await expect(html).to_have_attribute("data-theme", "dark")
    dark = await background(admin)
    assert luminance(light) > 0.8
    assert luminance(dark) < 0.1
    await admin.open("/fleet")
    await expect(html).to_have_attribute("data-theme", "dark")

    owl = await another(*admin_of(platform), color_scheme="dark")
    await owl.open("/")
    await expect(owl.page.locator("html")).to_have_attribute("data-theme", "dark")


async def background(person) -> list[int]:
    """Of the page, as it is painted."""
    return await person.page.evaluate(
        """() => {
          const paper = document.createElement("canvas").getContext("2d");
          paper.fillStyle = getComputedStyle(document.documentElement).backgroundColor;
          paper.fillRect(0, 0, 1, 1);
          return [...paper.getImageData(0, 0, 1, 1).data].slice(0, 3);
        }"""
    )


def luminance(colour: list[int]) -> float:
    red, green, blue = (value / 255 for value in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
