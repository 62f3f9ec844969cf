"""A busy farm: what somebody has in hand stays while the page is updated around it, and the numbers add up."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager, suppress

import pytest
from playwright.async_api import Locator, expect

from tests.browser.farm import PHONES
from tests.browser.jobs import cancel, create, heard, held_up
from tests.e2e.farmhand import hire

pytestmark = pytest.mark.asyncio(loop_scope="package")

JOBS_WAITING = 12
JOB_S = 5.0
UPDATES = 10
"""Of the page, each at least 200 ms after the one before: many times what it took to lose a dialog."""
COUNT_UPDATES = """() => {
  const active = document.querySelector("main section");
  window.updates = 0;
  new MutationObserver(() => window.updates++).observe(active, { subtree: true, childList: true, characterData: true });
}"""


@asynccontextmanager
async def at_work(http):
    """All phones have work, one job after the other, for as long as the block lasts. A job takes them five seconds."""
    made = [await create(http, f"Busy {number}") for number in range(JOBS_WAITING)]

    over = asyncio.Event()

    async def keep_busy() -> None:
        while not over.is_set():
            left = await http.rows("jobs", "select=id&title=like.Busy*&status=in.(created,active)")
            for _ in range(JOBS_WAITING - len(left)):
                made.append(await create(http, f"Busy {len(made)}"))
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), JOB_S)

    keeping = asyncio.create_task(keep_busy())
    try:
        yield
    finally:
        over.set()
        await keeping
        for job in made:
            await cancel(http, job)


async def waits_for_ever(http, title: str) -> str:
    """A job that nobody can take: it names no phone."""
    return await create(http, title, target={"device_ids": []})


async def updated(person, times: int = UPDATES) -> None:
    """Waits until the page has drawn the active job anew so many times."""
    await person.page.evaluate(COUNT_UPDATES)
    await person.page.wait_for_function("times => window.updates >= times", arg=times)


async def open_queue(person) -> None:
    await person.open("/queue")
    await person.is_live()
    await expect(person.page.locator("main section").first).to_contain_text("Busy")


def waiting(person, title: str) -> Locator:
    return person.page.get_by_role("table", name="Waiting").get_by_role("row", name=re.compile(title))


def ended(person, title: str) -> Locator:
    return person.page.get_by_role("table", name="History").get_by_role("row", name=re.compile(title))


async def test_a_question_that_was_asked_in_a_row_waits_for_its_answer(admin, http):
    job = await waits_for_ever(http, "To be cancelled")
    async with at_work(http):
        await open_queue(admin)
        row = waiting(admin, "To be cancelled")
        await row.get_by_role("button", name="Cancel", exact=True).click()
        question = admin.page.get_by_role("dialog", name="Cancel this job?")
        await expect(question).to_be_visible()
        await updated(admin)
        assert await question.is_visible(), "it vanished by itself"
        await question.get_by_role("button", name="Cancel the job").click()
        await expect(question).to_have_count(0)
        await expect(ended(admin, "To be cancelled")).to_contain_text("Cancelled")
    (row,) = await http.rows("jobs", f"id=eq.{job}")
    assert row["status"] == "cancelled"


async def test_the_keyboard_stays_where_it_is_in_a_row(admin, http):
    job = await waits_for_ever(http, "By keyboard")
    keys = admin.page.keyboard
    async with at_work(http):
        await open_queue(admin)
        row = waiting(admin, "By keyboard")
        await row.get_by_role("checkbox").focus()
        for name in ("By keyboard", "Why?", "Run next", "Pause", "Cancel"):
            await keys.press("Tab")
            button = row.get_by_role("button", name=name, exact=True)
            await expect(button).to_be_focused()
            await updated(admin)
            assert await button.evaluate("it => it === document.activeElement"), f"{name} lost the focus"
        await keys.press("Enter")
        question = admin.page.get_by_role("dialog", name="Cancel this job?")
        await expect(question.get_by_role("button", name="Keep")).to_be_focused()
        await updated(admin)
        await keys.press("Escape")
        await expect(button).to_be_focused()
        await keys.press("Enter")
        await updated(admin)
        await keys.press("Tab")
        await keys.press("Enter")
        await expect(ended(admin, "By keyboard")).to_contain_text("Cancelled")
    (row,) = await http.rows("jobs", f"id=eq.{job}")
    assert row["status"] == "cancelled"


async def test_a_question_outlives_its_row_and_says_when_it_has_no_object_any_more(admin, http):
    page = admin.page
    # Its phone is there and does not begin: the job is still active when the page shows it, however late that is.
    async with heard(await hire(http, "TURN00000001", pc="PC-TURN")):
        async with held_up(http):
            job = await create(http, "Has its turn", target={"pc_id": "PC-TURN"})
            await admin.open("/queue")
            await admin.is_live()
            row = waiting(admin, "Has its turn")
            await row.get_by_role("button", name="Cancel", exact=True).click()
            question = page.get_by_role("dialog", name="Cancel this job?")
            await expect(question).to_contain_text("Has its turn")
        await expect(row).to_have_count(0)
        await expect(page.locator("main section").first).to_contain_text("Has its turn")
        await expect(question.get_by_role("button", name="Cancel the job")).to_be_visible()
        await cancel(http, job)

    await expect(question).to_contain_text("has ended")
    await expect(question.get_by_role("button", name="Cancel the job")).to_have_count(0)
    await expect(question.get_by_text("Close", exact=True)).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(question).to_have_count(0)


READ_NUMBERS = """() => {
  const active = document.querySelector("main section");
  const [, done, total] = /([\\d,]+) of ([\\d,]+)/.exec(active.innerText) ?? [];
  const number = text => Number((text ?? "").replaceAll(",", ""));
  const counters = [...active.querySelectorAll("dl > div")].map(
    one => [one.querySelector("dt").innerText, number(one.querySelector("dd").innerText)],
  );
  return { text: active.innerText, done: number(done), total: number(total), counters: Object.fromEntries(counters) };
}"""
PER_MINUTE_MAX = 60 * PHONES
"""No phone is through with a job within a second."""


async def test_the_numbers_of_the_active_job_add_up_at_every_update(admin, http):
    async with at_work(http):
        await open_queue(admin)
        phones = len(await http.rows("devices", "select=id"))
        for _ in range(UPDATES):
            await updated(admin, 1)
            shown = await admin.page.evaluate(READ_NUMBERS)
            if not shown["counters"]:
                continue  # between two jobs
            assert shown["total"] == phones, shown
            assert sum(shown["counters"].values()) <= phones, shown
            over = sum(shown["counters"].get(name, 0) for name in ("Completed", "Failed", "Cancelled"))
            assert over == shown["done"], shown
            assert " 0 s" not in shown["text"], shown
            pace = re.search(r"([\d,.]+) / min", shown["text"])
            assert pace is None or float(pace[1].replace(",", "")) <= PER_MINUTE_MAX, shown


async def test_a_phone_whose_offer_was_taken_back_is_counted_once(admin, http):
    hand = await hire(http, "COUNTED00001", pc="PC-COUNTED")
    job = await create(http, "Twice offered", target={"pc_id": "PC-COUNTED"})
    await hand.work()
    for status in ("paused", "active", "paused", "active"):
        answer = await http.call("PATCH", f"/rest/v1/jobs?id=eq.{job}", json={"status": status})
        assert answer.status in (200, 204), answer
    await admin.open(f"/queue?job={job}")
    await admin.is_live()
    panel = admin.page.get_by_role("complementary", name="Twice offered")
    await expect(panel).to_contain_text("0 of 1")
    work = await hand.work()
    assert (await hand.report(work, "running")).status == 204
    await hand.complete(work)
    await expect(panel).to_contain_text("1 of 1")
    await expect(panel.locator("dl").first).to_have_text(re.compile(r"^Completed\s*1\s*Failed\s*0\s*Running\s*0$"))
    (row,) = await http.rows("jobs", f"id=eq.{job}")
    assert (row["completed"], row["cancelled"], row["skipped"]) == (1, 0, 0)
