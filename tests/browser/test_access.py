"""axe on every screen, light and dark: nothing serious, nothing critical."""

from __future__ import annotations

from typing import Any, Final

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect

from tests.browser.jobs import cancel, create
from tests.browser.person import SCREENS, Person

pytestmark = pytest.mark.asyncio(loop_scope="package")

GRAVE: Final = {"serious", "critical"}
OPTIONS: Final = {"resultTypes": ["violations"]}


async def faults(person: Person, axe: Axe) -> list[str]:
    found: dict[str, Any] = (await axe.run(person.page, options=OPTIONS)).response
    return [
        f"{fault['impact']} {fault['id']}: {node['html'][:160]} {node['failureSummary'].splitlines()[-1].strip()}"
        for fault in found["violations"]
        if fault["impact"] in GRAVE
        for node in fault["nodes"][:3]
    ]


@pytest.mark.slow
@pytest.mark.timeout(300)  # many screens, one after the other
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_axe_finds_nothing_serious(admin, http, theme):
    axe = Axe()
    jobs = [await create(http, "At work"), await create(http, "After it")]
    # Colours must not be caught on their way from one to the other.
    await admin.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    await admin.open("/sign-in")
    found: dict[str, list[str]] = {}
    (device,) = await http.rows("devices", "serial_number=eq.SIM00001P001D001")
    screens = SCREENS | {
        "phone": f"/fleet?device={device['id']}",
        "job": f"/queue?job={jobs[1]}",
        "new job": "/queue?new=true",
        "audit": "/audit",
        "past": "/fleet?as_of=2026-01-01T00:00:00Z",
    }
    for name, path in screens.items():
        await admin.open(path)
        await expect(admin.page.locator("html")).to_have_attribute("data-theme", theme)
        await expect(admin.page.get_by_role("heading", level=1, include_hidden=True)).to_be_visible()
        await expect(admin.page.get_by_text("Loading…")).to_have_count(0)
        found[name] = await faults(admin, axe)
    await admin.page.context.clear_cookies()
    await admin.open("/")
    await expect(admin.button("Sign in")).to_be_visible()
    found["sign-in"] = await faults(admin, axe)
    for job in jobs:
        await cancel(http, job)
    assert {name: some for name, some in found.items() if some} == {}
