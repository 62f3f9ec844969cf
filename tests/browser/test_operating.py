"""What operators do on the dashboard, by mouse and by keyboard: the order of the queue, jobs for later, many phones."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from playwright.async_api import Locator, expect

from tests.browser.jobs import VIDEO, cancel, create, held_up
from tests.e2e.farmhand import hire, order

pytestmark = pytest.mark.asyncio(loop_scope="package")

NOBODY = {"device_ids": []}
"""A target that no phone is in: such a job waits for ever."""


def local(**ahead: float) -> str:
    """A time as a field of the page has it: on the clock of this machine."""
    return f"{datetime.now().astimezone() + timedelta(**ahead):%Y-%m-%dT%H:%M}"


def waiting(person) -> Locator:
    return person.page.get_by_role("table", name="Waiting")


def line(person, title: str) -> Locator:
    return waiting(person).get_by_role("row", name=re.compile(title))


async def stand(person, *titles: str) -> None:
    """Waits until these jobs wait in this order, whoever else waits."""
    rows = waiting(person).locator("tbody tr").filter(has_text=re.compile("|".join(map(re.escape, titles))))
    for place, title in enumerate(titles):
        await expect(rows.nth(place)).to_contain_text(title)


@pytest.mark.req("OQ-02")
async def test_a_waiting_job_is_put_first_and_given_a_priority(admin, http):
    page, keys = admin.page, admin.page.keyboard
    async with held_up(http):
        jobs = [await create(http, f"In line {name}", target=NOBODY) for name in ("A", "B", "C")]
        await admin.open("/queue")
        await admin.is_live()
        await stand(admin, "In line A", "In line B", "In line C")

        await line(admin, "In line C").get_by_role("button", name="Run next", exact=True).click()
        await stand(admin, "In line C", "In line A", "In line B")
        await expect(waiting(admin).locator("tbody tr").first).to_contain_text("In line C")
        await expect(line(admin, "In line C")).to_contain_text("Next")

        await line(admin, "In line B").get_by_role("button", name="In line B").focus()
        await keys.press("Enter")
        panel = page.get_by_role("complementary", name="In line B")
        await panel.get_by_label("Priority").fill("7")
        await keys.press("Enter")
        await stand(admin, "In line C", "In line B", "In line A")
        await expect(line(admin, "In line B")).to_contain_text("+7")
        await line(admin, "In line A").get_by_role("button", name="Why?").click()
        panel = page.get_by_role("complementary", name="In line A")
        await expect(panel).to_contain_text(
            re.compile(r"and \d+ jobs, of which 2 newer with a higher priority or put first")
        )
        for job in jobs:
            await cancel(http, job)


async def test_a_job_is_scheduled_in_its_form_and_started_before_its_time(admin, http):
    page = admin.page
    await admin.open("/queue?new=true")
    form = page.get_by_role("dialog")
    await form.get_by_label("Title").fill("For later")
    await form.get_by_label("Video URL").fill(VIDEO)
    await form.get_by_text("A PC", exact=True).click()
    await form.get_by_label("PC", exact=True).select_option("PC-01")
    await form.get_by_label("At most").fill("2")
    await form.get_by_label("Start at").fill(local(hours=-1))
    await admin.button("Create").click()
    await expect(form).to_contain_text("This time has passed.")
    await form.get_by_label("Start at").fill(local(hours=2))
    await admin.button("Create").click()

    panel = page.get_by_role("complementary", name="For later")
    await expect(panel.locator("h2 + span")).to_have_text("Scheduled")
    await expect(panel).to_contain_text("It is scheduled for")
    await expect(line(admin, "For later")).to_contain_text("Starts at")
    await panel.get_by_role("button", name="Start now").click()
    await expect(panel.locator("h2 + span")).to_have_text("Completed")
    (row,) = await http.rows("jobs", "title=eq.For later")
    assert (row["target"], row["not_before"], row["completed"]) == ({"pc_id": "PC-01", "count": 2}, None, 2)


async def test_phones_are_registered_selected_moved_and_get_a_job(admin, http):
    page, keys = admin.page, admin.page.keyboard
    await admin.open("/fleet?q=OPERATED")
    await admin.is_live()
    await admin.button("Register phones").click()
    form = page.get_by_role("dialog")
    await form.get_by_label("Serial numbers").fill("operated0001, OPERATED0002\nOPERATED0003")
    await form.get_by_label("PC", exact=True).fill("PC-OPERATED")
    await form.get_by_label("Group").fill("P1-G9")
    await form.get_by_role("button", name="Register 3 phones").click()
    phones = page.get_by_role("group", name="PC-OPERATED").locator(".phone")
    await expect(phones).to_have_count(3)

    # Once more: those that are there are named, the new one is registered.
    await admin.button("Register phones").click()
    await form.get_by_label("Serial numbers").fill("OPERATED0001 OPERATED0004")
    await form.get_by_label("PC", exact=True).fill("PC-OPERATED")
    await form.get_by_label("Group").fill("P1-G9")
    await form.get_by_role("button", name="Register 2 phones").click()
    report = page.get_by_role("dialog", name="1 refusal")
    await expect(report).to_contain_text("A device with this serial number is already registered")
    await keys.press("Escape")
    await expect(phones).to_have_count(4)

    # By keyboard: the first, and all up to the third.
    await phones.first.focus()
    await keys.press("x")
    await keys.press("ArrowRight")
    await keys.press("ArrowRight")
    await keys.press("Shift+X")
    bar = page.get_by_role("region", name="Selected phones")
    await expect(bar).to_contain_text("3 selected")
    await bar.get_by_role("button", name="Move").click()
    await page.get_by_role("dialog").get_by_label("PC", exact=True).fill("PC-MOVED")
    await page.get_by_role("dialog").get_by_role("button", name="Move").click()
    moved = page.get_by_role("group", name="PC-MOVED").locator(".phone")
    await expect(moved).to_have_count(3)
    await expect(page.get_by_role("dialog")).to_have_count(0)  # rows may be told before the request is answered
    await keys.press("Escape")
    await expect(bar).to_have_count(0)

    # By mouse.
    await moved.nth(0).click(modifiers=["Control"])
    await moved.nth(1).click(modifiers=["Shift"])
    await expect(bar).to_contain_text("2 selected")
    await bar.get_by_role("button", name="New job for these").click()
    await expect(form.get_by_label("Phones", exact=True).last).to_have_value("OPERATED0001\nOPERATED0002")
    await form.get_by_label("Title").fill("For these two")
    await form.get_by_label("Video URL").fill(VIDEO)
    await admin.button("Create").click()
    panel = page.get_by_role("complementary", name="For these two")
    await expect(panel).to_contain_text("2 selected phones")
    (row,) = await http.rows("jobs", "title=eq.For these two")
    assert len(row["target"]["device_ids"]) == 2
    await cancel(http, row["id"])


async def test_finished_jobs_run_again_where_they_failed(admin, http):
    hand = await hire(http, "FAILING00001", pc="PC-FAILING")
    for title in ("Failed once", "Failed twice"):
        await order(http, hand, title=title)
        work = await hand.work()
        assert (await hand.report(work, "running")).status == 204
        assert (await hand.report(work, "failed", error_code="BATTERY_LOW")).status == 204
        answer = await http.call("PATCH", f"/rest/v1/devices?id=eq.{hand.device_id}", json={"error": None})
        assert answer.status == 204, answer
    await admin.open("/queue?q=Failed")
    await admin.is_live()
    history = admin.page.get_by_role("table", name="History")
    for title in ("Failed once", "Failed twice"):
        await history.get_by_role("row", name=re.compile(title)).get_by_role("checkbox").check()
    await admin.button("Run 2 jobs again where failed").click()
    await expect(admin.page.get_by_text("2 new jobs in the queue")).to_be_visible()
    rows = await http.rows("jobs", "title=in.(Failed once,Failed twice)&status=in.(created,active)")
    assert [row["target"] for row in rows] == [{"device_ids": [hand.device_id]}] * 2
    for row in rows:
        await cancel(http, row["id"])


async def test_a_viewer_selects_and_registers_nothing(person, viewer_account):
    await person.sign_in(*viewer_account)
    await person.open("/fleet")
    await person.is_live()
    await person.page.locator(".phone").first.focus()
    await person.page.keyboard.press("x")
    await expect(person.page.get_by_role("complementary")).to_be_visible()  # it is opened, not selected
    for name in ("Register phones", "Select", "Move"):
        await expect(person.button(name)).to_have_count(0)
    await expect(person.page.get_by_role("region", name="Selected phones")).to_have_count(0)
