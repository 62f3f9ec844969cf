"""The past on Fleet and Queue: by an exact moment, by the slider, by the mark of an alert."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from playwright.async_api import expect

from drover.testing.waiting import eventually
from tests.browser.farm import PHONES
from tests.browser.jobs import cancel, create, held_up
from tests.e2e.farmhand import hire

pytestmark = pytest.mark.asyncio(loop_scope="package")

POLLS_MAX = 200


def slider(person):
    return person.page.get_by_role("slider", name="Moment")


def banner(person):
    return person.page.get_by_role("region", name="Time machine").locator("div[role=status]")


@pytest.mark.req("EV-05")
async def test_fleet_and_queue_show_the_moment_that_was_chosen(admin, http):
    async with held_up(http, "Already there"):
        then = datetime.now(UTC)
        later = await create(http, "Came later")
        await hire(http, "LATER00001", pc="PC-LATER")
        await admin.open("/queue")
        await expect(admin.page.get_by_text("Came later")).to_be_visible()

        await admin.open(f"/queue?as_of={then.isoformat().replace('+00:00', 'Z')}")
        await expect(banner(admin)).to_contain_text("You're viewing the past")
        await expect(admin.page.get_by_text("Already there")).to_be_visible()
        await expect(admin.page.get_by_text("Came later")).to_have_count(0)
        await expect(admin.button("New job")).to_have_count(0)
        await expect(admin.button("Cancel")).to_have_count(0)
        await cancel(http, later)

    await admin.page.get_by_role("link", name="Fleet").click()
    await expect(admin.heading("Fleet")).to_be_visible()
    await expect(admin.page.get_by_role("group", name="PC PC-01")).to_be_visible()
    await expect(admin.page.get_by_role("group", name="PC PC-LATER")).to_have_count(0)
    await admin.button("Back to now").click()
    await expect(admin.page.get_by_role("group", name="PC PC-LATER")).to_be_visible()
    await expect(banner(admin)).to_have_count(0)


@pytest.mark.req("EV-05")
async def test_the_slider_is_dragged_to_before_the_farm_and_back(admin):
    await admin.open("/fleet")
    await admin.is_live()
    await expect(admin.page.locator(".phone").nth(PHONES - 1)).to_be_visible()
    await admin.press_pair("gt")
    box = await slider(admin).bounding_box()
    middle = box["y"] + box["height"] / 2
    await admin.page.mouse.move(box["x"] + box["width"] - 6, middle)
    await admin.page.mouse.down()
    for share in (0.9, 0.6, 0.2):
        await admin.page.mouse.move(box["x"] + box["width"] * share, middle)
    await admin.page.mouse.up()
    await expect(banner(admin)).to_contain_text("You're viewing the past")
    await expect(admin.page.locator(".phone")).to_have_count(0)  # the platform was not there yet
    assert "as_of=" in admin.page.url
    await admin.button("Close the time machine").click()
    await expect(admin.page.locator(".phone").nth(PHONES - 1)).to_be_visible()
    assert "as_of=" not in admin.page.url


@pytest.mark.req("EV-05")
async def test_a_mark_on_the_slider_leads_to_its_alert(admin, http):
    hand = await hire(http, "HURRIED001", pc="PC-HURRIED")

    async def too_often() -> bool:
        """Until the platform has had enough of it, and raised an alert."""
        path = f"/rest/v1/job_assignments?device_id=eq.{hand.device_id}&status=eq.pending&limit=1"
        for _ in range(POLLS_MAX):
            if (await http.call("GET", path, anon=True)).status == 429:
                break
        return bool(await http.rows("alerts", f"kind=eq.rate_limited&subject=eq.{hand.device_id}"))

    await eventually(too_often)
    await admin.open("/alerts")
    await expect(admin.page.get_by_role("main")).to_contain_text("Phone sends too many requests")
    await admin.button("Time machine").click()
    mark = admin.page.get_by_role("region", name="Time machine").get_by_role(
        "button", name=re.compile("Phone sends too many requests|alerts,")
    )
    await mark.last.click()
    await expect(banner(admin)).to_contain_text("You're viewing the past")
    await expect(admin.page.get_by_role("main")).to_contain_text("Phone sends too many requests")
