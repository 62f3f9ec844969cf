"""API keys at the dashboard: created and shown once, used, revoked; codes for PCs; nobody but admins."""

from __future__ import annotations

import re

import aiohttp
import pytest
from playwright.async_api import expect

from drover.testing.waiting import eventually

pytestmark = [pytest.mark.asyncio(loop_scope="package"), pytest.mark.req("SE-01", "SE-03")]


async def status_with(platform, key: str) -> int:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{platform.url}/rest/v1/pcs", headers={"apikey": key}) as answer,
    ):
        return answer.status


async def test_an_admin_creates_a_key_which_works_until_it_is_revoked(admin, platform):
    page = admin.page
    await admin.open("/system")
    await page.get_by_role("main").get_by_role("link", name="API keys").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("API keys")
    await admin.button("Create key").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name", exact=True).fill("night report")
    await dialog.get_by_role("button", name="Create key").click()
    await expect(dialog.get_by_text("Copy the key now")).to_be_visible()
    key = await dialog.locator("code").inner_text()
    assert await status_with(platform, key) == 200
    await page.keyboard.press("Escape")  # does not lose the key
    await expect(dialog.locator("code")).to_have_text(key)
    await admin.button("I have copied it").click()

    row = page.get_by_role("table", name="API keys").get_by_role("row").filter(has_text="night report")
    await expect(row).to_contain_text("Active")
    await expect(row).to_contain_text("service_role")
    assert key not in await page.content()
    await admin.button("Revoke night report").click()
    await expect(page.get_by_text("This cannot be undone")).to_be_visible()
    await admin.button("Keep the key").click()
    assert await status_with(platform, key) == 200
    await admin.button("Revoke night report").click()
    await admin.button("Revoke the key").click()

    async def is_refused() -> bool:
        return await status_with(platform, key) == 401

    await eventually(is_refused)
    await expect(row).to_have_count(0)
    await page.get_by_label("Show revoked and expired keys").check()
    await expect(row).to_contain_text("Revoked")


async def test_a_key_is_rotated_and_both_are_listed(admin):
    page = admin.page
    await admin.open("/keys")
    await admin.button("Create key").click()
    await page.get_by_label("Name", exact=True).fill("partner")
    await page.get_by_role("dialog").get_by_role("button", name="Create key").click()
    await admin.button("I have copied it").click()
    await admin.button("Rotate partner").click()
    await page.get_by_role("dialog").get_by_role("button", name="Rotate", exact=True).click()
    await expect(page.get_by_text("Copy the key now")).to_be_visible()
    await admin.button("I have copied it").click()
    rows = page.get_by_role("table", name="API keys").get_by_role("row").filter(has_text="partner")
    await expect(rows).to_have_count(2)
    await expect(rows.filter(has_text="Being replaced")).to_have_count(1)


async def test_a_list_that_was_read_too_early_is_read_again(admin):
    page = admin.page
    await admin.open("/keys")
    early = 0

    async def answer_from_before(route):
        nonlocal early
        early += 1
        if early > 1:
            await route.continue_()
            return
        await route.fulfill(json={"keys": []}, headers={"Drover-Behind": "identity=1"})

    await admin.button("Create key").click()
    await page.get_by_label("Name", exact=True).fill("early")
    await page.route(
        "**/api/keys", lambda route: route.continue_() if route.request.method == "POST" else answer_from_before(route)
    )
    await page.get_by_role("dialog").get_by_role("button", name="Create key").click()
    await admin.button("I have copied it").click()
    row = page.get_by_role("table", name="API keys").get_by_role("row").filter(has_text="early")
    await expect(row).to_contain_text("Active")
    assert early > 1


async def test_an_admin_makes_a_code_for_a_pc_and_withdraws_it(admin):
    page = admin.page
    await admin.open("/keys")
    await admin.button("Create code").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("PC", exact=True).fill("PC-NEW-7")
    await dialog.get_by_role("button", name="Create code").click()
    await expect(dialog.get_by_text("There is no PC PC-NEW-7")).to_be_visible()
    await dialog.get_by_label("This PC is not registered yet").check()
    await dialog.get_by_role("button", name="Create code").click()
    await expect(dialog.locator("code")).to_have_text(re.compile(r"^(\w{5}-){4}\w{5}$"))
    await admin.button("I have copied it").click()
    row = page.get_by_role("table", name="Enrolment codes").get_by_role("row").filter(has_text="PC-NEW-7")
    await expect(row).to_contain_text("Open")
    await admin.button("Withdraw the code of PC-NEW-7").click()
    await expect(row).to_contain_text("No longer valid")


async def test_a_viewer_is_told_that_keys_are_for_administrators(another, viewer_account):
    viewer = await another(*viewer_account)
    await viewer.open("/keys")
    await expect(viewer.page.get_by_text("Only administrators can manage API keys.")).to_be_visible()
    await viewer.open("/system")
    await expect(viewer.page.get_by_role("main").get_by_role("link", name="API keys")).to_have_count(0)
