"""What somebody does when something fails: look at the screenshot, ask why, take care of the alert."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from drover.testing.waiting import eventually
from tests.browser.alert import raise_alert
from tests.browser.chromium import PHONE
from tests.browser.jobs import cancel
from tests.browser.layout import layout_faults
from tests.browser.person import admin_of
from tests.e2e.farmhand import hire, order
from tests.unit.evidence.pictures import png

pytestmark = pytest.mark.asyncio(loop_scope="package")

STACK = "com.google.android.youtube/.WatchWhileActivity\ncom.android.systemui/.PopupDialog"
PICTURES = os.environ.get("LOOK_AT")
"""A folder for pictures of these pages, for people who want to look at them."""


async def look(page: Page, name: str) -> None:
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png")


async def failed_phone(http) -> str:
    """The id of a phone whose run failed with a screenshot and an activity stack."""
    hand = await hire(http, "SHOT000001", pc="PC-SHOTS")
    job = await order(http, hand, title="Fails with a picture")
    work = await hand.work()
    assert (await hand.report(work, "running")).status == 204
    path = f"/agent/v1/assignments/{work['id']}/evidence?run={work['run']}"
    kept = await http.call("POST", path, anon=True, data=png(360, 640))
    assert kept.status == 201, kept
    told = {"error_code": "PLAYBACK_STALLED", "activity_stack": STACK, "screenshot_ref": kept.json["screenshot_ref"]}
    assert (await hand.report(work, "failed", **told)).status == 204
    await cancel(http, job)  # it would be tried again, and wait in the queue of other tests
    return hand.device_id


@pytest.mark.req("DF-30", "SE-11")
async def test_the_screenshot_of_a_failure_is_shown_as_a_picture_and_the_look_is_recorded(
    admin, another, platform, http
):
    device = await failed_phone(http)
    await admin.open(f"/fleet?device={device}")
    panel = admin.page.get_by_role("complementary", name="SHOT000001")
    await panel.get_by_text("Activity stack").click()
    await expect(panel).to_contain_text("com.android.systemui/.PopupDialog")
    show = panel.get_by_role("button", name="Show screenshot")
    await show.focus()
    await admin.page.keyboard.press("Enter")
    picture = panel.get_by_role("img", name="Screenshot of SHOT000001 when it failed")
    await expect(picture).to_be_visible()
    await expect(picture).to_have_js_property("naturalWidth", 360)  # its frame is there before the picture
    await picture.scroll_into_view_if_needed()
    await look(admin.page, "screenshot")
    await panel.get_by_role("button", name="Enlarge the screenshot").click()
    dialog = admin.page.get_by_role("dialog", name="Screenshot")
    await expect(dialog.get_by_role("img")).to_have_js_property("naturalWidth", 360)
    assert await layout_faults(admin.page) == []
    await look(admin.page, "screenshot-large")
    await admin.page.keyboard.press("Escape")
    korean = await another(*admin_of(platform), **PHONE, locale="ko-KR", color_scheme="dark")
    await korean.open(f"/fleet?device={device}")
    await korean.button("화면 캡처 보기").click()
    await expect(korean.page.get_by_role("img", name="SHOT000001")).to_be_visible()
    await korean.page.get_by_text("액티비티 스택").click()
    assert await layout_faults(korean.page) == []
    await korean.page.get_by_text("액티비티 스택").scroll_into_view_if_needed()
    await look(korean.page, "screenshot-korean-phone")
    await admin.open("/audit?kind=evidence")
    # Once for both looks, unless the hour has turned between them.
    await expect(admin.page.get_by_role("row").filter(has_text=device).first).to_be_visible()

    await admin.open(f"/fleet?device={device}")
    await panel.get_by_role("button", name="Show screenshot").click()
    await panel.get_by_role("button", name="Erase screenshots").click()
    question = admin.page.get_by_role("dialog", name="Erase the screenshots of this run?")
    await question.get_by_role("button", name="Erase screenshots").click()
    await expect(panel).to_contain_text("The screenshot was deleted")


async def test_a_render_says_why_it_stands_where_it_does(admin, http):
    async def some():
        return (await http.get("/api/renders?limit=1")).json["items"]

    (render,) = await eventually(some, every_s=0.3)
    await admin.open(f"/renders?render={render['id']}")
    why = admin.page.get_by_role("complementary").locator("section", has=admin.heading("Why?"))
    await expect(why.get_by_role("listitem").first).to_contain_text(re.compile(r"\w+ \w+.*\."))
    await look(admin.page, "why-render")


async def test_an_alert_is_acknowledged_and_snoozed_and_a_viewer_sees_by_whom(
    admin, another, viewer_account, platform, http
):
    await raise_alert(http)
    await admin.open("/alerts")
    alert = admin.page.get_by_role("article").filter(has_text="Phone sends too many requests").first
    await alert.get_by_role("button", name="Acknowledge").click()
    form = admin.page.get_by_role("dialog", name="Acknowledge this alert?")
    await form.get_by_label("Note (optional)").fill("I am looking at it")
    await admin.page.keyboard.press("Enter")
    await expect(alert).to_contain_text(re.compile("Acknowledged · You · .*I am looking at it"))
    await alert.get_by_role("button", name="Snooze").click()
    form = admin.page.get_by_role("dialog", name="Snooze this alert until…")
    await form.get_by_label("Until").select_option("other")
    await form.get_by_role("button", name="Snooze").click()
    await expect(form).to_contain_text("Choose a time within the next 30 days.")
    await look(admin.page, "snooze")
    await form.get_by_label("Until").select_option("fourHours")
    await form.get_by_role("button", name="Snooze").click()
    await expect(alert).to_contain_text(re.compile("Snoozed until .* · You"))
    await look(admin.page, "alert-handled")
    korean = await another(*admin_of(platform), locale="ko-KR", color_scheme="dark")
    await korean.open("/alerts")
    handled = korean.page.get_by_role("article").filter(has_text="I am looking at it").first
    await expect(handled).to_contain_text("나")  # other alerts of this farm may be newer
    await look(korean.page, "alert-korean")
    viewer = await another(*viewer_account, **PHONE)
    await viewer.open("/alerts")
    seen = viewer.page.get_by_role("article").filter(has_text="I am looking at it").first
    await expect(seen).to_contain_text(re.compile("Acknowledged · Person [0-9a-f]{8}"))
    await expect(seen.get_by_role("button")).to_have_count(0)
    assert await layout_faults(viewer.page) == []
    await look(viewer.page, "alert-viewer-phone")
    await alert.get_by_role("button", name="End snooze").click()
    await expect(alert).not_to_contain_text("Snoozed until")
