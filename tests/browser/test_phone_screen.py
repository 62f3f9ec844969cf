"""Every screen, panel, dialog and menu on a phone, 390 px wide: nothing is cut off, covered or too small to tap."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import pytest
import pytest_asyncio
from playwright.async_api import expect

from drover.testing.waiting import eventually
from tests.browser.alert import raise_alert
from tests.browser.chromium import PHONE
from tests.browser.jobs import cancel, create, held_up
from tests.browser.layout import layout_faults
from tests.browser.person import SCREENS, Person, admin_of, somebody

pytestmark = pytest.mark.asyncio(loop_scope="package")

LANGUAGES: Final = ("en", "ko")
TITLE: Final = "Evening round, channel 7"
LONG_TITLE: Final = "A job whose title is much longer than a line of a phone could ever be, whatever it is about"

Prepare = Callable[[Person], Awaitable[Any]]


async def nothing(somebody: Person) -> None:
    return None


def press(key: str) -> Prepare:
    return lambda somebody: somebody.page.keyboard.press(key)


def tap(*selectors: str) -> Prepare:
    """One after the other."""

    async def taps(somebody: Person) -> None:
        for selector in selectors:
            await somebody.page.locator(selector).first.tap()

    return taps


@dataclass(frozen=True, slots=True)
class View:
    path: str
    """With names of what is on the farm in braces."""
    prepare: Prepare = nothing
    waits_for: str = "h1"


DIALOG: Final = "[role=dialog]"
PANEL: Final = "aside h2"
VIEWS: Final = {name: View(path) for name, path in SCREENS.items()} | {
    "resolved alerts": View("/alerts?past=1"),
    "sent reminders": View("/reminders?show=sent"),
    "failed reminders": View("/reminders?show=failed"),
    "stalled analyses": View("/analyses?show=stalled"),
    "mapping": View("/renders?view=mapping"),
    "composition": View("/renders?view=mapping&map={composition}", waits_for="main form"),
    "phone": View("/fleet?device={device}", waits_for=PANEL),
    "pc": View("/fleet?pc=PC-01", waits_for=PANEL),
    "job": View("/queue?job={waiting}", waits_for=PANEL),
    "active job": View("/queue?job={active}", waits_for=PANEL),
    "render": View("/renders?render={render}", waits_for=PANEL),
    "analysis": View("/analyses?test={test}", waits_for=PANEL),
    "user": View("/analyses?user={user}", waits_for=PANEL),
    "reminder": View("/reminders?page={page}&user={owner}", waits_for=PANEL),
    "event": View("/events?event=fleet%3D{seq}.{line}", waits_for=PANEL),
    "events of a phone": View("/events?entity={device}"),
    "audit": View("/audit"),
    "account": View("/system?account={account}", waits_for=PANEL),
    "new job": View("/queue?new=true", waits_for=DIALOG),
    "new job for a group": View("/queue?new=true", tap(f"{DIALOG} label:nth-of-type(2)"), DIALOG),
    "new render": View("/renders?new=true", waits_for=DIALOG),
    "register phones": View("/fleet", tap("main header button:nth-of-type(2)"), DIALOG),
    "selected phones": View("/fleet", tap("main header button:nth-of-type(1)", ".phone"), "main section[aria-label]"),
    "new account": View("/system?new=true", waits_for=DIALOG),
    "clean up now": View("/analyses?clean=1", waits_for=DIALOG),
    "cancel a job": View("/queue", tap("table button.text-error-ink"), DIALOG),
    "selected jobs": View("/queue", tap("main section:nth-of-type(2) thead input")),
    "your sessions": View("/", tap("header button[aria-label*='@']", "[role=menuitem] >> nth=0"), DIALOG),
    "menu": View("/", tap("header button[aria-label*='@']"), "[role=menu]"),
    "palette": View("/", press("Control+k"), DIALOG),
    "keys": View("/", press("?"), DIALOG),
    "time machine": View("/", tap("header button[aria-pressed]"), ".slider"),
    "fleet in the past": View("/fleet?as_of={then}", waits_for=".slider"),
    "queue in the past": View("/queue?as_of={then}", waits_for=".slider"),
    "system in the past": View("/system?as_of={then}", waits_for=".slider"),
}


async def first(http: Any, relation: str, query: str) -> dict[str, Any]:
    """The first row, as soon as there is one."""
    found: list[dict[str, Any]] = []

    async def is_there() -> bool:
        found.extend(await http.rows(relation, f"{query}&limit=1"))
        return bool(found)

    await eventually(is_there, 60.0, every_s=0.5)
    return found[0]


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def places(platform) -> AsyncIterator[dict[str, Any]]:
    """Something of everything there is: a job that is held up and two behind it, an alert, a render, an analysis."""
    async with platform.calling() as http, held_up(http, LONG_TITLE) as active:
        jobs = [await create(http, TITLE), await create(http, LONG_TITLE)]
        await raise_alert(http)
        test = await first(http, "saju_tests", "status=eq.completed")
        alarm = await first(http, "alarm", "order=next_alarm_time")
        event = await first(http, "events", "type=eq.JobCreated&order=at.desc")
        yield {
            "active": active,
            "waiting": jobs[0],
            "device": (await first(http, "devices", "serial_number=eq.SIM00001P001D001"))["id"],
            "render": (await first(http, "render_queue", "order=id"))["id"],
            "composition": (await first(http, "aep_compositions", "order=id"))["id"],
            "test": test["id"],
            "user": test["user_id"],
            "page": alarm["page_id"],
            "owner": alarm["user_id"],
            "seq": event["seq"],
            "line": event["line"],
            "then": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        for job in jobs:
            await cancel(http, job)


@pytest_asyncio.fixture(scope="module", loop_scope="package", params=LANGUAGES)
async def phone(request, browser, platform, places) -> AsyncIterator[Person]:
    """Somebody at the dashboard with a phone in their hand, in one language and the other."""
    async with somebody(browser, platform, **PHONE, reduced_motion="reduce") as person:
        await person.context.add_init_script(f"localStorage['drover.language'] = '{request.param}'")
        places["account"] = (await person.sign_in(*admin_of(platform)))["user"]["id"]
        yield person


@pytest.mark.parametrize("name", VIEWS)
async def test_nothing_is_cut_off_covered_or_too_small_on_a_phone(phone, places, name):
    view = VIEWS[name]
    await phone.open(view.path.format(**places))
    await phone.is_there()
    await view.prepare(phone)
    await expect(phone.page.locator(view.waits_for).first).to_be_visible()
    await phone.is_there()
    assert await layout_faults(phone.page) == []


async def test_the_title_of_a_waiting_job_can_be_read_on_a_phone(phone, places):
    await phone.open("/queue")
    title = phone.page.locator("table").first.get_by_role("button", name=TITLE)
    await expect(title).to_be_visible()
    assert await title.evaluate("(button) => button.scrollWidth <= button.clientWidth")


async def test_a_panel_takes_the_whole_screen_of_a_phone_and_gives_it_back(phone, places):
    await phone.open("/queue")
    search = phone.page.get_by_role("searchbox")
    await expect(search).to_be_visible()
    await phone.page.locator("table").first.get_by_text(TITLE).tap()
    await expect(phone.page.locator("aside")).to_have_js_property("offsetWidth", PHONE["viewport"]["width"])
    await expect(search).to_be_hidden()
    await phone.page.locator("aside > header button").last.tap()
    await expect(phone.page.locator("aside")).to_have_count(0)
    await expect(search).to_be_visible()


async def test_a_job_is_made_and_cancelled_with_a_thumb(another, platform, places):
    phone = await another(*admin_of(platform), **PHONE)
    await phone.open("/")
    await phone.page.get_by_role("navigation").get_by_role("link", name="Queue").tap()
    await phone.button("New job").tap()
    await phone.page.get_by_label("Title (optional)").fill("From the train")
    await phone.page.get_by_label("Video URL").fill("https://www.youtube.com/watch?v=train")
    await phone.button("Create").tap()
    panel = phone.page.locator("aside")
    await expect(panel.get_by_role("heading", name="From the train")).to_be_visible()
    await panel.get_by_role("button", name="Cancel").tap()
    await phone.page.get_by_role("dialog").get_by_role("button", name="Cancel the job").tap()
    await expect(panel.get_by_text("Cancelled").first).to_be_visible()
