"""Work, as somebody at the dashboard sees it: phones that move, a job from its form to its end, and why one waits."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.browser.farm import PHONES, PHONES_PER_PC
from tests.browser.jobs import VIDEO, begun, cancel, create, held_up
from tests.browser.person import SCREENS
from tests.e2e.farmhand import hire

pytestmark = pytest.mark.asyncio(loop_scope="package")

ACTS = re.compile(
    r"^(New|Create|Cancel|Pause|Resume|Release|Reset|Retry|Run|Start|Schedule|Register|Move|Select|Delete|Change|Edit|Add"
    r"|Grant|Set|Sign out|Rebuild)\b",
    re.IGNORECASE,
)
# Their own: their account, and the list that they look at.
OWN = {"system": {"Change password", "Sign out", "Sign out all others"}, "events": {"Pause"}}


@pytest.mark.req("DF-23")
async def test_the_farm_moves_without_a_reload(admin, http):
    hand = await hire(http, "MOVING000001", pc="PC-01")
    await admin.open("/fleet")
    await admin.is_live()
    await admin.page.evaluate("window.notReloaded = true")
    await expect(admin.page.locator(".phone").nth(PHONES - 1)).to_be_visible()
    job = await create(http, "Everybody")
    # The simulated phones are done within seconds. This one goes on when the page has shown how far it is.
    work = await hand.work()
    for pct in (10, 60):
        assert (await hand.report(work, "running", progress_pct=pct)).status == 204
        await expect(admin.button(f"{hand.serial}, Busy, {pct} %")).to_be_visible()
    await expect(admin.page.get_by_role("group", name="Status")).to_contain_text(re.compile(r"Busy\s*[1-9]"))
    assert await admin.page.evaluate("window.notReloaded")
    await cancel(http, job)
    await hand.complete(work)


async def test_a_job_is_created_on_the_page_and_watched_to_its_end(admin, http):
    await admin.open("/queue")
    await admin.is_live()
    await admin.button("New job").click()
    form = admin.page.get_by_role("dialog")
    await form.get_by_label("Title").fill("Made in a browser")
    await form.get_by_label("Video URL").fill("https://example.com/")
    await form.get_by_text("A PC", exact=True).click()
    await form.get_by_label("PC", exact=True).select_option("PC-02")
    await admin.button("Create").click()
    await expect(form).to_contain_text("Enter a URL at youtube.com or youtu.be.")
    await form.get_by_label("Video URL").fill(VIDEO)

    # The simulated phones are done within seconds. One more keeps the job active until the page has shown it.
    hand = await hire(http, "WATCHED00001", pc="PC-02")
    await admin.button("Create").click()
    await expect(form).to_have_count(0)
    panel = admin.page.get_by_role("complementary", name="Made in a browser")
    async with begun(hand) as work:
        await expect(panel).to_contain_text("Active")
        await expect(panel).to_contain_text(re.compile("SIM.*P002"))
    assert (await hand.complete(work)).status == 204
    await expect(panel.locator("h2 + span")).to_have_text("Completed")
    bar = panel.get_by_role("img", name=re.compile("Completed"))
    await expect(bar).to_have_attribute("aria-label", re.compile(f"Completed {PHONES_PER_PC + 1}"))
    row = admin.page.get_by_role("row", name=re.compile("Made in a browser"))
    await expect(row).to_contain_text("Completed")
    assert f"job={await job_of(admin)}" in admin.page.url


async def job_of(person) -> str:
    found = re.search(r"job=([0-9a-f-]+)", person.page.url)
    assert found is not None, person.page.url
    return found.group(1)


async def test_a_job_that_waits_says_why_and_is_cancelled(admin, http):
    async with held_up(http):
        waiting = await create(http, "Behind it")
        await admin.open("/queue")
        row = admin.page.get_by_role("row", name=re.compile("Behind it"))
        await row.get_by_role("button", name="Why?").click()
        panel = admin.page.get_by_role("complementary", name="Behind it")
        why = panel.locator("section", has=admin.heading("Why is this waiting?"))
        await expect(why).to_contain_text("In front")

        await panel.get_by_role("button", name="Cancel", exact=True).click()
        question = admin.page.get_by_role("dialog", name="Cancel this job?")
        await question.get_by_role("button", name="Keep").click()
        await expect(row).to_contain_text("Waiting")
        await panel.get_by_role("button", name="Cancel", exact=True).click()
        await question.get_by_role("button", name="Cancel the job").click()
        await expect(panel.locator("h2 + span")).to_have_text("Cancelled")
    (ended,) = await http.rows("jobs", f"id=eq.{waiting}")
    assert ended["status"] == "cancelled"


async def test_a_viewer_sees_everything_and_no_button_that_acts(another, viewer_account, http):
    viewer = await another(*viewer_account)
    async with held_up(http):
        waiting = await create(http, "To look at")
        for name, path in SCREENS.items():
            await viewer.open(path)
            await viewer.is_live()
            await expect(viewer.page.get_by_role("heading", level=1)).to_be_visible()
            acting = viewer.page.get_by_role("main").get_by_role("button", name=ACTS)
            assert set(await acting.all_inner_texts()) <= OWN.get(name, set()), name
        await viewer.open(f"/queue?job={waiting}")
        panel = viewer.page.get_by_role("complementary", name="To look at")
        await expect(panel).to_contain_text("In front")  # why it waits is for everybody
        await expect(panel.get_by_role("button", name=ACTS)).to_have_count(0)
        await expect(viewer.page.get_by_role("checkbox")).to_have_count(0)
        await viewer.page.keyboard.press("n")
        await expect(viewer.page.get_by_role("dialog")).to_have_count(0)
        await cancel(http, waiting)
