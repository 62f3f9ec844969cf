"""Five thousand phones on one page; and what the page says while its server is away."""

from __future__ import annotations

import re
import signal
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.browser.person import Person, admin_of, somebody
from tests.e2e.up import Platform

pytestmark = pytest.mark.asyncio(loop_scope="package")

PHONES = 5_000
PHONES_PER_PC = 20
ROWS = 100
NODES_MAX = 4_000
"""In the page, whatever the number of phones: those in sight, and a few around them."""


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def data_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("many") / "data"


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def large(browser, data_dir) -> AsyncIterator[Platform]:
    platform = Platform(data_dir)
    try:
        await platform.ready()
        async with platform.calling() as http:
            for first in range(0, PHONES, ROWS):
                rows = [phone(number) for number in range(first, first + ROWS)]
                assert (await http.call("POST", "/rest/v1/devices", json=rows)).status == 201
            await http.catch_up()
        yield platform
    finally:
        await platform.end()


def phone(number: int) -> dict[str, str]:
    pc = number // PHONES_PER_PC + 1
    return {"serial_number": f"MANY{number:08d}", "pc_id": f"PC-{pc:03d}", "group_id": f"P{pc}-G1"}


@pytest_asyncio.fixture(loop_scope="package")
async def operator(browser, large) -> AsyncIterator[Person]:
    async with somebody(browser, large) as person:
        await person.sign_in(*admin_of(large))
        yield person


async def test_five_thousand_phones_are_there_and_few_are_drawn(operator):
    page = operator.page
    await operator.open("/fleet")
    await operator.is_live()
    await expect(page.get_by_text("5,000 phones", exact=True)).to_be_visible()
    await expect(page.get_by_role("group", name="PC PC-001")).to_be_visible()
    await expect(page.get_by_role("group", name="PC PC-250")).to_have_count(0)
    assert await nodes(page) < NODES_MAX

    await page.locator(".racks").hover()
    await page.evaluate("document.querySelector('.racks').scrollTo(0, 1e7)")
    last = page.get_by_role("button", name=re.compile("MANY00004999"))
    await expect(last).to_be_visible()
    await expect(page.get_by_role("group", name="PC PC-001")).to_have_count(0)
    assert await nodes(page) < NODES_MAX
    await last.click()
    await expect(page.get_by_role("complementary", name="MANY00004999")).to_contain_text("PC-250")

    # By a link, its rack comes into sight.
    link = page.url
    await operator.open("/fleet")
    await expect(page.get_by_role("group", name="PC PC-001")).to_be_visible()
    await operator.open(link.removeprefix(operator.url))
    await expect(last).to_be_in_viewport()
    await page.keyboard.press("Escape")

    await page.get_by_role("searchbox").fill("MANY0000123")
    await expect(page.get_by_text("10 phones found", exact=True)).to_be_visible()


async def nodes(page) -> int:
    return await page.evaluate("document.querySelectorAll('*').length")


async def test_the_page_says_that_its_server_is_away_and_goes_on_when_it_is_back(operator, large):
    page = operator.page
    await operator.open("/fleet?q=MANY0000123")
    await operator.is_live()
    large.send(signal.SIGKILL)
    await large.ended()
    banner = page.get_by_role("alert").filter(has_text="Connection lost.")
    await expect(banner).to_be_visible()
    await expect(banner).to_contain_text("Retrying")
    await expect(page.get_by_text("10 phones found", exact=True)).to_be_visible()  # what was known is still there
    # Asked for while nobody answers: afterwards the page may come back by itself before the button is reached.
    async with page.expect_request("**/api/stream*"):
        await banner.get_by_role("button", name="Retry now").click()
    # Screens that were not opened before may not be loaded. The page stays all the same, and opens them later.
    missing = page.get_by_text("This screen could not be loaded")
    for name in ("Analyses", "Reminders", "Alerts"):
        await page.get_by_role("link", name=name).click()
        await expect(operator.heading(name).or_(missing)).to_be_visible()
        await expect(banner).to_be_visible()

    again = Platform(large.data_dir, port=large.port)
    try:
        await again.ready()
        await operator.is_live()
        await expect(banner).to_have_count(0)
        await expect(operator.heading("Alerts")).to_be_visible()
        await operator.open("/fleet?q=MANY0000123")
        await operator.is_live()
        async with again.calling() as http:
            assert (await http.beat("MANY00001234")).status == 204
        await expect(page.get_by_role("button", name="MANY00001234, Ready")).to_be_visible()
    finally:
        await again.end()
