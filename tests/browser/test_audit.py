"""The audit: what an admin does is there at once, and nobody else sees it."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

pytestmark = pytest.mark.asyncio(loop_scope="package")


@pytest.mark.req("SE-11")
async def test_an_admin_sees_who_did_what_and_narrows_it_down(admin):
    await admin.open("/system")
    await admin.page.get_by_role("main").get_by_role("link", name="Audit").click()
    await expect(admin.page.get_by_role("heading", level=1)).to_have_text("Audit")
    table = admin.page.get_by_role("table", name="Audit")
    await expect(table.get_by_role("row").filter(has_text="/api/audit").first).to_contain_text("127.0.0.1")
    await admin.page.get_by_label("Kind").select_option("Sign-in")
    await expect(table.get_by_role("row").filter(has_text="session").first).to_be_visible()
    await expect(table.get_by_role("row").filter(has_text="/api/audit")).to_have_count(0)
    assert "kind=sign_in" in admin.page.url
    await admin.page.get_by_label("Who").select_option("Programs with an API key")  # they do not sign in
    await expect(admin.page.get_by_text("No entries match")).to_be_visible()


@pytest.mark.req("SE-11")
async def test_a_viewer_is_told_that_it_is_for_administrators(another, viewer_account):
    viewer = await another(*viewer_account)
    await viewer.open("/audit")
    await expect(viewer.page.get_by_text("Only administrators can see the audit.")).to_be_visible()
    await viewer.open("/system")
    await expect(viewer.page.get_by_role("main").get_by_role("link", name="Audit")).to_have_count(0)
