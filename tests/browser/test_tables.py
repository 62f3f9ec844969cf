"""Charts, sorting, searches, exports and the palette, by mouse and by keyboard."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.async_api import APIResponse, Locator, Route, expect

from tests.browser.jobs import cancel, create
from tests.browser.layout import layout_faults

pytestmark = [pytest.mark.asyncio(loop_scope="package"), pytest.mark.req("EV-05")]


async def saved(person, buttons: Locator, format_: str, said: str = "Exported") -> tuple[str, str]:
    """The name and the text of the file that a press on the button saves. `said`: of it, for some seconds."""
    async with person.page.expect_download() as download:
        await buttons.get_by_role("button", name=re.compile(f"as {format_}$")).click()
        await expect(person.page.get_by_text(said).first).to_be_visible()
    file = await download.value
    text = await asyncio.to_thread(Path(await file.path()).read_text, encoding="utf-8-sig")
    return file.suggested_filename, text


def exports(person, table: str) -> Locator:
    return person.page.get_by_role("group", name=f"Export: {table}")


async def ask_palette(person, text: str) -> None:
    await person.page.keyboard.press("Control+k")
    await expect(person.page.get_by_role("combobox", name="Search and commands")).to_be_focused()
    await person.page.keyboard.type(text)


async def ended(http, *titles: str) -> None:
    for title in titles:
        await cancel(http, await create(http, title, target={"device_ids": []}))


def the_same_minutes():
    """Answers with what was read first: a new minute would move the point that the keyboard has chosen."""
    read: dict[str, APIResponse] = {}

    async def answer(route: Route) -> None:
        if route.request.url not in read:
            read[route.request.url] = await route.fetch()
        await route.fulfill(response=read[route.request.url])

    return answer


async def test_nothing_is_cut_off_beside_an_open_panel_at_a_desk(admin, http):
    await ended(http, "Cancelled beside a panel")
    job = await create(http, "Beside its panel", target={"device_ids": []})
    (device,) = await http.rows("devices", "serial_number=eq.SIM00001P001D001")
    event, *_ = await http.rows("events", "type=eq.JobCreated&order=at.desc&limit=1")
    opened = (
        f"fleet?device={device['id']}",
        f"queue?job={job}",
        f"events?event=fleet%3D{event['seq']}.{event['line']}",
    )
    for path in opened:
        await admin.open(f"/{path}")
        await expect(admin.page.get_by_role("complementary")).to_be_visible()
        await admin.is_there()
        assert await layout_faults(admin.page, by_finger=False) == [], path
    await cancel(http, job)


async def test_charts_say_their_values_by_keyboard_and_keep_their_range_over_a_reload(admin):
    page, keys = admin.page, admin.page.keyboard
    await admin.open("/")
    await admin.is_live()
    await page.get_by_role("radio", name="15 min").focus()
    await keys.press("ArrowRight")
    await expect(page).to_have_url(re.compile(r"\?range=1h$"))
    await page.route("**/api/series?*", the_same_minutes())
    await page.reload()
    await expect(page.get_by_role("radio", name="1 h", exact=True)).to_be_checked()

    chart = page.get_by_role("slider", name="Attempts completed, failed or lost per minute, over the last hour")
    await expect(chart).to_have_attribute("aria-valuemax", "59")
    await chart.focus()
    await keys.press("End")
    await expect(chart).to_have_attribute("aria-valuenow", "59")
    await keys.press("ArrowLeft")
    await expect(chart).to_have_attribute("aria-valuenow", "58")
    await expect(chart).to_have_attribute("aria-valuetext", re.compile(r"^\d\d:\d\d: (completed \d|no data)"))
    await keys.press("Home")
    await expect(chart).to_have_attribute("aria-valuetext", re.compile("no data"))
    tip = chart.locator(".shadow-raised")
    await expect(tip).to_contain_text("no data")
    await keys.press("Escape")
    await expect(tip).to_be_hidden()
    for name in ("Phones by status", "Time from offer to start", "Largest lag of the read models"):
        await expect(page.get_by_role("slider", name=re.compile(f"^{name}.*, over the last hour$"))).to_be_visible()
    await page.get_by_text("30 d").click()
    await expect(page.get_by_role("slider", name=re.compile("over the last 30 days")).first).to_be_visible()


async def test_the_history_is_sorted_and_exported_as_it_is_shown(admin, http):
    page, keys = admin.page, admin.page.keyboard
    await ended(http, "Sorted beta", "Sorted alpha", "=Sorted, gamma")
    await admin.open("/queue?q=sorted")
    await admin.is_live()
    table = page.get_by_role("table", name="History")
    heads = table.get_by_role("columnheader")
    rows = table.get_by_role("row").filter(has_text="orted").locator("td:nth-child(2)")
    await expect(rows).to_have_text(["=Sorted, gamma", "Sorted alpha", "Sorted beta"])  # the newest first

    await heads.get_by_role("button", name="Job", exact=True).click()
    await expect(page).to_have_url(re.compile(r"order=title$"))
    await expect(heads.filter(has_text="Job")).to_have_attribute("aria-sort", "ascending")
    upwards = await rows.all_inner_texts()
    assert upwards.index("Sorted alpha") < upwards.index("Sorted beta")
    await keys.press("Enter")
    await expect(heads.filter(has_text="Job")).to_have_attribute("aria-sort", "descending")
    await expect(rows).to_have_text(upwards[::-1])
    await page.reload()
    await expect(rows).to_have_text(upwards[::-1])

    name, text = await saved(admin, exports(admin, "History"), "CSV", said="Exported 3 rows")
    assert re.fullmatch(r"jobs-\d{8}-\d{4}\.csv", name)
    titles = [row["title"] for row in csv.DictReader(io.StringIO(text, newline=""), strict=True)]
    assert titles == [title.replace("=Sorted", "'=Sorted") for title in upwards[::-1]]
    _, text = await saved(admin, exports(admin, "History"), "JSON")
    assert [row["title"] for row in json.loads(text)] == upwards[::-1]

    await admin.open("/audit?kind=export")
    entries = page.get_by_role("table", name="Audit")
    await expect(entries.get_by_role("row").filter(has_text="/rest/v1/export/jobs.csv").first).to_be_visible()
    _, text = await saved(admin, exports(admin, "Audit"), "CSV")
    assert "/rest/v1/export/jobs.csv" in text and "127.0.0.1" in text
    await entries.get_by_role("button", name="Time").click()
    await entries.get_by_role("button", name="Time").click()
    await expect(page).to_have_url(re.compile("order=at$"))


async def test_events_of_a_time_are_searched_saved_shared_and_found_again(admin, http):
    page, keys = admin.page, admin.page.keyboard
    before = datetime.now(UTC)
    await ended(http, "Searched for")
    await admin.open("/events?kind=jobs")
    await admin.is_live()
    await page.get_by_label("Time", exact=True).select_option("Last hour")
    await expect(page).to_have_url(re.compile("last=1h"))
    table = page.get_by_role("table", name="Events")
    await expect(table.get_by_role("row").filter(has_text="JobCancelled").first).to_be_visible()

    await admin.button("Saved searches").click()
    dialog = page.get_by_role("dialog", name="Saved searches")
    await expect(dialog).to_contain_text("No saved searches yet.")
    await dialog.get_by_label("Name").fill("Jobs of this hour")
    await keys.press("Enter")
    await expect(dialog.get_by_role("listitem")).to_contain_text("Jobs of this hour")
    await keys.press("Escape")

    await admin.open(f"/events?kind=jobs&to={before.isoformat().replace('+00:00', 'Z')}")
    await expect(page.get_by_label("Time", exact=True)).to_have_value("between")
    await expect(page.get_by_label("To", exact=True)).not_to_have_value("")
    await admin.is_there()
    ids = {row["id"] for row in await http.rows("jobs", "title=eq.Searched for")}
    _, text = await saved(admin, exports(admin, "Events"), "JSON")
    assert not any(set(event["entities"]) & ids for event in json.loads(text)), "they came later"

    await ask_palette(admin, "jobs of this")
    option = page.get_by_role("option").filter(has_text="Jobs of this hour")
    await expect(option).to_have_attribute("aria-selected", "true")
    await keys.press("Enter")
    await expect(page).to_have_url(re.compile(r"/events\?(kind=jobs&last=1h|last=1h&kind=jobs)$"))
    await admin.button("Saved searches").click()
    await dialog.get_by_role("button", name="Delete “Jobs of this hour”").click()
    await expect(dialog).to_contain_text("No saved searches yet.")


async def test_the_palette_finds_what_only_the_server_knows(admin, http):
    page, keys = admin.page, admin.page.keyboard
    await ended(http, "Palette of last year")
    (user, *_) = await http.rows("users", "select=id&order=id&limit=1")
    (render, *_) = await http.rows("render_queue", "select=id,composition_name&order=id&limit=1")
    await admin.open("/")
    await admin.is_live()

    async def choose(text: str, group: str, option: str) -> None:
        await ask_palette(admin, text)
        found = page.get_by_role("group", name=group).get_by_role("option").filter(has_text=option).first
        await expect(found).to_be_visible()
        while await found.get_attribute("aria-selected") != "true":
            await keys.press("ArrowDown")
        await keys.press("Enter")

    await choose("PALETTE of", "Jobs", "Palette of last year")
    await expect(page.get_by_role("complementary", name="Palette of last year")).to_be_visible()
    await choose(f"#{render['id']}", "Renders", render["composition_name"])
    await expect(page).to_have_url(re.compile(rf"/renders\?render={render['id']}$"))
    await choose(user["id"], "Users", user["id"])
    await expect(page).to_have_url(re.compile(r"/analyses\?user="))
    await choose("jobcancel", "Events", "JobCancelled")
    await expect(page).to_have_url(re.compile(r"/events\?type=JobCancelled$"))
    await expect(page.get_by_role("table", name="Events").get_by_role("row").nth(1)).to_contain_text("JobCancelled")
    await page.get_by_role("button", name="Clear: JobCancelled").click()
    await expect(page).to_have_url(re.compile(r"/events$"))
