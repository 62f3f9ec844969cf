"""Without a mouse: the command palette, and keys for every screen."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def test_the_palette_finds_screens_phones_and_things_to_do(admin):
    keys, page = admin.page.keyboard, admin.page
    palette = page.get_by_role("dialog", name="Search and commands")

    async def ask(text: str) -> None:
        await keys.press("Control+k")
        await expect(palette.get_by_role("combobox")).to_be_focused()
        await keys.type(text)

    await admin.open("/")
    await admin.is_live()
    await ask("rend")
    await expect(palette.get_by_role("option").first).to_contain_text("Renders")
    await keys.press("Enter")
    await expect(admin.heading("Renders")).to_be_visible()

    await ask("P002D003")
    await expect(palette.get_by_role("option").first).to_contain_text("SIM00001P002D003")
    await keys.press("Enter")
    panel = page.get_by_role("complementary", name="SIM00001P002D003")
    await expect(panel.get_by_role("heading", level=2)).to_be_focused()  # Escape is for the panel from now on
    assert "/fleet?device=" in page.url
    await keys.press("Escape")
    await expect(page.get_by_role("complementary")).to_have_count(0)

    await ask("dark")
    await keys.press("Enter")
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")


async def test_two_keys_lead_to_each_screen(admin):
    await admin.open("/")
    await admin.is_live()
    for keys, title in (
        ("gf", "Fleet"),
        ("gq", "Queue"),
        ("gr", "Renders"),
        ("gn", "Analyses"),
        ("gm", "Reminders"),
        ("ge", "Events"),
        ("ga", "Alerts"),
        ("gs", "System"),
        ("go", "Overview"),
    ):
        await admin.press_pair(keys)
        await expect(admin.heading(title)).to_be_visible()


async def test_keys_search_create_and_explain_themselves(admin):
    keys, page = admin.page.keyboard, admin.page
    await admin.open("/fleet")
    await admin.is_live()
    await keys.press("/")
    await expect(page.get_by_role("searchbox")).to_be_focused()
    await keys.type("P001D00n?t")  # in a box, keys write
    await expect(page.get_by_text("No phone matches.")).to_be_visible()
    await keys.press("Escape")
    await expect(page.get_by_role("searchbox")).to_have_value("")
    await keys.press("Escape")
    await keys.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard")).to_contain_text("Search and commands")
    await keys.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await admin.press_pair("gq")
    await expect(admin.heading("Queue")).to_be_visible()
    await keys.press("n")
    await expect(page.get_by_role("dialog", name="New job").get_by_label("Title")).to_be_focused()


async def test_after_a_panel_the_keyboard_goes_on_where_it_was(admin):
    keys, page = admin.page.keyboard, admin.page
    await admin.open("/fleet")
    await admin.is_live()
    rack = page.get_by_role("button", name="PC-02", exact=True)
    await rack.focus()
    await keys.press("Enter")
    await expect(page.get_by_role("complementary").get_by_role("heading", level=2)).to_be_focused()
    await keys.press("Escape")
    await expect(rack).to_be_focused()
