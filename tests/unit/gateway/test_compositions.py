"""Compositions and their fields at the edge: described, mapped, changed, removed."""

from __future__ import annotations

import pytest

from drover.domain.render import commands as c
from drover.domain.render.mapping_spec import OUTPUT_MODULE_DEFAULT
from drover.readmodel.models import RELATIONS
from tests.unit.gateway.render_office import KEYED, SHOW, open_render_office

UPSERT = {"Prefer": "return=representation, resolution=merge-duplicates"}
FIELD = {"composition_id": "comp_1", "field_name": "Slot 1 - name", "layer_name": "Name 1"}
OBJECT = {"Accept": "application/vnd.pgrst.object+json"}


@pytest.fixture
async def office():
    async with open_render_office() as office:
        yield office


@pytest.fixture
def fields(office):
    """By id: composition, name, layer, as the writer has them."""

    def now():
        queue = office.bus.queue
        return {
            id_: (*place, queue.compositions[place[0]].fields[place[1]].layer_name)
            for id_, place in queue.mappings.items()
        }

    return now


# Fields


@pytest.mark.req("RN-06")
async def test_a_field_is_mapped_and_shown(office):
    answer = await office.ask("POST", "aep_field_mapping", FIELD, **SHOW)
    (row,) = await answer.json()
    assert (answer.status, answer.headers["Drover-Position"]) == (201, "render=1")
    assert row.keys() == RELATIONS["aep_field_mapping"].columns.keys()
    assert {name: row[name] for name in FIELD} == FIELD
    assert (row["id"], row["kind"], row["property"]) == (1, "data", "Source Text")


async def test_the_same_field_again_is_409_and_an_upsert_changes_it(office, fields):
    await office.ask("POST", "aep_field_mapping", FIELD)
    answer = await office.ask("POST", "aep_field_mapping", FIELD | {"layer_name": "Other"}, **SHOW)
    assert (answer.status, (await answer.json())["code"]) == (409, "23505")
    path = "aep_field_mapping?on_conflict=composition_id,field_name&select=id,layer_name"
    answer = await office.ask("POST", path, FIELD | {"layer_name": "Other"}, **UPSERT)
    assert (answer.status, await answer.json()) == (201, [{"id": 1, "layer_name": "Other"}])
    assert answer.headers["Preference-Applied"] == "return=representation, resolution=merge-duplicates"
    assert fields() == {1: ("comp_1", "Slot 1 - name", "Other")}


async def test_an_upsert_of_many_makes_the_new_ones_and_changes_the_others(office, fields):
    await office.ask("POST", "aep_field_mapping", FIELD)
    rows = [
        FIELD | {"field_name": "Slot 2 - name"},
        FIELD,
        FIELD | {"layer_name": "Later"},
    ]
    answer = await office.ask("POST", "aep_field_mapping?select=id,field_name", rows, **UPSERT)
    assert [row["id"] for row in await answer.json()] == [2, 1, 1]
    assert fields() == {1: ("comp_1", "Slot 1 - name", "Later"), 2: ("comp_1", "Slot 2 - name", "Name 1")}


async def test_an_upsert_that_is_repeated_with_its_key_is_told_the_same_and_does_nothing(office, fields):
    await office.ask("POST", "aep_field_mapping", FIELD)
    told = []
    for since in (c.ChangeField(1, layer_name="Changed since"), c.UnmapField(1), None):
        answer = await office.ask("POST", "aep_field_mapping", FIELD | {"layer_name": "Other"}, **UPSERT, **KEYED)
        told.append(await answer.json())
        if since is not None:
            office.bus.do(since)
    assert told[0] == told[1] == told[2]
    assert fields() == {}


async def test_rows_are_told_apart_by_composition_and_field_and_nothing_else(office):
    answer = await office.ask("POST", "aep_field_mapping?on_conflict=id", FIELD, **UPSERT)
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, "on_conflict")
    answer = await office.ask("POST", "render_queue?on_conflict=id", {"composition_id": "c", "gfx_data": {}}, **UPSERT)
    assert answer.status == 400


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"layer_name": ""}, "layer_name"),
        ({"kind": "video"}, "kind"),
        ({"property": "x" * 201}, "property"),
        ({"composition_id": ""}, "composition_id"),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_a_bad_field_is_400_by_name_and_nothing_is_sent(office, fields, field):
    answer = await office.ask("POST", "aep_field_mapping", [FIELD, FIELD | fields])
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, f"[1].{field}")
    assert office.bus.sent == []


async def test_a_patch_changes_the_layer(office, fields):
    await office.ask("POST", "aep_field_mapping", FIELD)
    answer = await office.ask("PATCH", "aep_field_mapping?id=eq.1", {"layer_name": "New", "kind": "image"}, **SHOW)
    (row,) = await answer.json()
    assert (row["id"], row["layer_name"], row["kind"], row["field_name"]) == (1, "New", "image", "Slot 1 - name")
    assert fields() == {1: ("comp_1", "Slot 1 - name", "New")}


@pytest.mark.parametrize("body", [{}, {"field_name": "Single - x"}, {"layer_name": ""}, {"layer_name": None}])
async def test_a_patch_that_says_nothing_or_the_wrong_thing_is_400(office, body):
    await office.ask("POST", "aep_field_mapping", FIELD)
    office.bus.sent.clear()
    assert (await office.ask("PATCH", "aep_field_mapping?id=eq.1", body)).status == 400
    assert office.bus.sent == []


async def test_a_patch_of_a_mapping_that_nobody_knows_is_404(office):
    assert (await office.ask("PATCH", "aep_field_mapping?id=eq.9", {"layer_name": "x"})).status == 404


async def test_a_mapping_is_deleted_by_its_id(office, fields):
    for number in (1, 2, 3):
        await office.ask("POST", "aep_field_mapping", FIELD | {"field_name": f"Slot {number} - name"})
    answer = await office.ask("DELETE", "aep_field_mapping?id=in.(1,3)")
    assert (answer.status, await answer.read(), answer.headers["Drover-Position"]) == (204, b"", "render=5")
    assert list(fields()) == [2]


async def test_a_delete_shows_what_was_there(office):
    await office.ask("POST", "aep_field_mapping", FIELD)
    office.pool.rows = [{"id": 1, **FIELD}]
    answer = await office.ask("DELETE", "aep_field_mapping?id=eq.1&select=id,layer_name", **SHOW, **OBJECT)
    assert (answer.status, await answer.json(content_type=None)) == (200, {"id": 1, "layer_name": "Name 1"})


async def test_while_the_database_is_away_a_delete_shows_the_ids(office):
    await office.ask("POST", "aep_field_mapping", FIELD)
    answer = await office.ask("DELETE", "aep_field_mapping?id=eq.1&select=id,layer_name", **SHOW)
    assert (answer.status, await answer.json()) == (200, [{"id": 1, "layer_name": None}])


async def test_what_is_not_there_is_as_good_as_deleted(office):
    assert (await office.ask("DELETE", "aep_field_mapping?id=eq.9")).status == 204
    answer = await office.ask("DELETE", "aep_field_mapping?id=eq.9", **SHOW)
    assert (answer.status, await answer.json()) == (200, [])
    answer = await office.ask("DELETE", "aep_field_mapping?id=in.()")
    assert answer.status == 204
    answer = await office.ask("DELETE", "aep_field_mapping?id=eq.9", **SHOW, **OBJECT)
    assert (answer.status, (await answer.json())["code"]) == (406, "PGRST116")


async def test_a_delete_without_a_filter_deletes_nothing(office):
    await office.ask("POST", "aep_field_mapping", FIELD)
    office.bus.sent.clear()
    answer = await office.ask("DELETE", "aep_field_mapping")
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, "filter")
    assert office.bus.sent == []


@pytest.mark.req("DI-14")
@pytest.mark.parametrize("query", ["composition_id=eq.comp_1", "id=gt.0", "id=not.eq.5", "id=eq.1&kind=eq.data"])
async def test_a_delete_with_other_filters_deletes_the_rows_that_match(office, fields, query):
    for number in (1, 2):
        await office.ask("POST", "aep_field_mapping", FIELD | {"field_name": f"Slot {number} - name"})
    office.pool.rows = [{"id": 1}, {"id": 9}]
    answer = await office.ask("DELETE", f"aep_field_mapping?{query}&select=id", **SHOW)
    assert (answer.status, await answer.json()) == (200, [{"id": 1}])
    assert list(fields()) == [2]


async def test_a_delete_by_filters_needs_the_read_model(office):
    await office.ask("POST", "aep_field_mapping", FIELD)
    office.bus.sent.clear()
    assert (await office.ask("DELETE", "aep_field_mapping?id=gt.0")).status == 503
    assert office.bus.sent == []


# Compositions


async def test_a_composition_is_described_and_described_anew(office):
    row = {"id": "comp_1", "name": "Chips", "template": "chips.aep"}
    answer = await office.ask("POST", "aep_compositions", row, **SHOW)
    (shown,) = await answer.json()
    assert shown.keys() == RELATIONS["aep_compositions"].columns.keys()
    assert {name: shown[name] for name in row} == row
    assert shown["output_module"] == OUTPUT_MODULE_DEFAULT
    answer = await office.ask("POST", "aep_compositions", {"id": "comp_1", "template": "new.aep"}, **UPSERT)
    (shown,) = await answer.json()
    assert (answer.status, shown["name"], shown["template"]) == (201, "Chips", "new.aep")


async def test_the_same_composition_twice_in_a_body_is_400(office):
    answer = await office.ask("POST", "aep_compositions", [{"id": "a"}, {"id": "a"}])
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, "[1].id")


@pytest.mark.parametrize("composition_id", ["", "x" * 129])
async def test_a_bad_id_is_told_by_the_name_that_the_client_used(office, composition_id):
    answer = await office.ask("POST", "aep_compositions", {"id": composition_id})
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, "id")


async def test_a_patch_changes_a_composition_and_makes_none(office):
    office.bus.do(c.DescribeComposition("a", name="A", template="a.aep"))
    answer = await office.ask("PATCH", "aep_compositions?id=in.(a,b)&select=id,template", {"template": "x.aep"}, **SHOW)
    assert (answer.status, await answer.json()) == (200, [{"id": "a", "template": "x.aep"}])
    assert list(office.bus.queue.compositions) == ["a"]
    assert (await office.ask("PATCH", "aep_compositions?id=eq.b", {"template": "x.aep"})).status == 404
    assert (await office.ask("PATCH", "aep_compositions?id=eq.a", {})).status == 400
    assert (await office.ask("PATCH", "aep_compositions?id=eq.a", {"fields": 3})).status == 400


async def test_a_patch_that_changes_nothing_is_shown_by_what_is_stored(office):
    office.bus.do(c.DescribeComposition("a", name="A", template="a.aep"))
    office.pool.rows = [{"id": "a", "name": "A", "template": "a.aep"}]
    answer = await office.ask("PATCH", "aep_compositions?id=eq.a&select=id,name,template", {"name": "A"}, **SHOW)
    assert await answer.json() == [{"id": "a", "name": "A", "template": "a.aep"}]


async def test_a_composition_is_removed_with_its_fields(office, fields):
    await office.ask("POST", "aep_field_mapping", [FIELD, FIELD | {"composition_id": "other"}])
    answer = await office.ask("DELETE", "aep_compositions?id=eq.comp_1")
    assert answer.status == 204
    assert fields() == {2: ("other", "Slot 1 - name", "Name 1")}
