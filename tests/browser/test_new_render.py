"""A render is requested on the page: for a composition of the list, with something to draw."""

from __future__ import annotations

import re
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Locator, expect

from drover.testing.waiting import eventually
from tests.browser.person import Person

pytestmark = pytest.mark.asyncio(loop_scope="package")

PAYOUTS = {"id": "browser_payouts", "name": "_SUB Browser Payouts"}
FIELD = "Single - table_id"


@pytest_asyncio.fixture(loop_scope="package")
async def composition(http) -> None:
    """One that the page knows by key and by name, with one field."""
    assert (await http.call("POST", "/rest/v1/aep_compositions", json=PAYOUTS)).status == 201
    mapping = {"composition_id": PAYOUTS["id"], "field_name": FIELD, "layer_name": "Table"}
    assert (await http.call("POST", "/rest/v1/aep_field_mapping", json=mapping)).status in (201, 409)


async def form_of(person: Person) -> Locator:
    await person.open("/renders?new=true")
    form = person.page.get_by_role("dialog", name="New render")
    await expect(form.get_by_role("button", name="Request")).to_be_enabled()  # it has the list of compositions now
    return form


async def requested(http, **columns: str) -> list[dict[str, Any]]:
    return await http.rows("render_queue", "&".join(f"{name}=eq.{value}" for name, value in columns.items()))


async def the_one_requested(http, **columns: str) -> dict[str, Any]:
    """The page says so as soon as the log has it; the row may come a little later."""
    (made,) = await eventually(lambda: requested(http, **columns))
    return made


@pytest.mark.req("RN-06", "RN-07")
async def test_a_name_that_is_no_composition_is_refused_with_a_sentence(admin, http, composition):
    form = await form_of(admin)
    box = form.get_by_role("combobox", name="Composition")
    await box.fill("Grand Finale")
    await box.press("Enter")
    await expect(form).to_contain_text("No composition is called “Grand Finale”")
    await expect(box).to_have_attribute("aria-invalid", "true")
    assert await requested(http, composition_id="Grand Finale") == []


@pytest.mark.req("RN-06", "RN-07")
async def test_a_composition_is_chosen_from_the_list_and_its_fields_are_drawn(admin, http, composition):
    form = await form_of(admin)
    box = form.get_by_role("combobox", name="Composition")
    await box.fill("browser pay")
    option = admin.page.get_by_role("option", name=re.compile("_SUB Browser Payouts.*browser_payouts"))
    await expect(option).to_be_visible()
    await box.press("ArrowDown")
    await box.press("Enter")
    await expect(box).to_have_value("browser_payouts")
    await form.get_by_label(FIELD).fill("Table 7")
    await form.get_by_label("Cue item").fill("chosen")
    await form.get_by_role("button", name="Request").click()
    await expect(form).to_have_count(0)
    made = await the_one_requested(http, cue_item_id="chosen")
    assert (made["composition_id"], made["gfx_data"]) == ("browser_payouts", {"single_fields": {"table_id": "Table 7"}})


@pytest.mark.req("RN-06", "RN-07")
async def test_a_composition_is_known_by_its_name_as_well(admin, http, composition):
    form = await form_of(admin)
    await form.get_by_role("combobox", name="Composition").fill("_sub browser payouts")
    await form.get_by_label(FIELD).fill("Table 8")
    await form.get_by_label("Cue item").fill("named")
    await form.get_by_role("button", name="Request").click()
    await expect(form).to_have_count(0)
    made = await the_one_requested(http, cue_item_id="named")
    assert made["composition_id"] == "browser_payouts"


@pytest.mark.req("RN-06", "RN-07")
async def test_a_render_with_every_field_empty_is_asked_about(admin, http, composition):
    form = await form_of(admin)
    await form.get_by_role("combobox", name="Composition").fill("browser_payouts")
    await form.get_by_label("Cue item").fill("empty")
    await expect(form.get_by_label(FIELD)).to_be_visible()
    await form.get_by_role("button", name="Request").click()
    question = admin.page.get_by_role("dialog", name="Request an empty video?")
    await expect(question).to_contain_text("Every field is empty")
    await admin.page.keyboard.press("Enter")  # the way back has the focus
    await expect(question).to_have_count(0)
    await expect(form).to_be_visible()
    assert await requested(http, cue_item_id="empty") == []

    await form.get_by_role("button", name="Request").click()
    await question.get_by_role("button", name="Request it empty").click()
    await expect(form).to_have_count(0)
    made = await the_one_requested(http, cue_item_id="empty")
    assert (made["composition_id"], made["gfx_data"]) == ("browser_payouts", {})
