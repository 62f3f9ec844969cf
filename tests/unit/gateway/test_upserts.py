"""Upserts (`Prefer: resolution=…` with `on_conflict`): new rows are made, existing ones are changed or left alone."""

from __future__ import annotations

import pytest

from drover.domain.fleet.commands import ChangeDevice, MarkOnline, RegisterDevice, RegisterPc
from drover.domain.fleet.state import DeviceStatus
from tests.unit.gateway.office import device_id, open_office
from tests.unit.gateway.render_office import KEYED, open_render_office

MERGE = {"Prefer": "return=representation, resolution=merge-duplicates"}
IGNORE = {"Prefer": "return=representation, resolution=ignore-duplicates"}
PHONE = {"serial_number": "SERIAL0001", "group_id": "P1-G1", "pc_id": "PC-01"}
BY_SERIAL = "devices?on_conflict=serial_number"
OTHER_ID = "018f2b5e-0000-7000-8000-00000000ffff"


@pytest.fixture
async def office():
    async with open_office() as office:
        office.bus.do(RegisterDevice(device_id(1), "SERIAL0001", "P1-G1", "PC-01", ["age_verified"]))
        yield office


@pytest.fixture
async def renders():
    async with open_render_office() as office:
        yield office


@pytest.mark.req("DI-18")
async def test_an_upsert_moves_the_phone_that_has_this_serial_number(office):
    office.bus.do(MarkOnline(device_id(1)))
    answer = await office.ask("POST", BY_SERIAL, PHONE | {"pc_id": "PC-02"}, **MERGE)
    (row,) = await answer.json()
    assert (answer.status, row["id"], row["pc_id"], row["group_id"]) == (201, device_id(1), "PC-02", "P1-G1")
    assert (row["status"], row["capabilities"]) == ("online", ["age_verified"])
    assert answer.headers["Preference-Applied"] == "return=representation, resolution=merge-duplicates"
    device = office.roster.fleet.devices[device_id(1)]
    assert (device.pc_id, device.capabilities, device.status) == ("PC-02", ["age_verified"], DeviceStatus.ONLINE)


@pytest.mark.req("DI-18")
async def test_an_upsert_of_many_registers_the_new_phones_and_changes_the_others(office):
    rows = [PHONE | {"serial_number": "SERIAL0002"}, PHONE | {"group_id": "P1-G2"}]
    answer = await office.ask("POST", BY_SERIAL, rows, **MERGE)
    made, changed = await answer.json()
    assert (made["serial_number"], made["status"], changed["id"]) == ("SERIAL0002", "offline", device_id(1))
    assert (changed["serial_number"], changed["group_id"]) == ("SERIAL0001", "P1-G2")


@pytest.mark.req("DI-18")
@pytest.mark.parametrize("capabilities", [[], ["tall"]])
async def test_an_upsert_changes_capabilities_only_if_it_tells_them(office, capabilities):
    await office.ask("POST", BY_SERIAL, PHONE, **MERGE)
    assert office.roster.fleet.devices[device_id(1)].capabilities == ["age_verified"]
    answer = await office.ask("POST", BY_SERIAL, PHONE | {"capabilities": capabilities}, **MERGE)
    assert (await answer.json())[0]["capabilities"] == capabilities
    assert office.roster.fleet.devices[device_id(1)].capabilities == capabilities


@pytest.mark.req("DI-18")
@pytest.mark.parametrize("path", ["devices", "devices?on_conflict=id"])
async def test_an_upsert_by_id_changes_the_phone_and_never_its_serial_number(office, path):
    row = PHONE | {"id": device_id(1), "pc_id": "PC-02"}
    answer = await office.ask("POST", path, row, **MERGE)
    assert (answer.status, (await answer.json())[0]["pc_id"]) == (201, "PC-02")
    answer = await office.ask("POST", path, row | {"serial_number": "SERIAL0009"}, **MERGE)
    body = await answer.json()
    assert (answer.status, body["code"], body["details"]["id"]) == (409, "23505", device_id(1))
    assert office.roster.fleet.devices[device_id(1)].serial_number == "SERIAL0001"


@pytest.mark.req("DI-18")
async def test_a_phone_keeps_its_id_and_the_answer_says_so(office):
    answer = await office.ask("POST", BY_SERIAL, PHONE | {"id": OTHER_ID}, **MERGE)
    assert (answer.status, (await answer.json())[0]["id"]) == (201, device_id(1))
    assert answer.headers["Drover-Ignored"] == "id"
    answer = await office.ask("POST", BY_SERIAL, PHONE | {"id": device_id(1)}, **MERGE)
    assert "Drover-Ignored" not in answer.headers


@pytest.mark.req("DI-18")
async def test_duplicates_can_be_left_alone(office):
    rows = [PHONE | {"pc_id": "PC-02"}, PHONE | {"serial_number": "SERIAL0002"}]
    answer = await office.ask("POST", BY_SERIAL, rows, **IGNORE)
    assert (answer.status, [row["serial_number"] for row in await answer.json()]) == (201, ["SERIAL0002"])
    assert office.roster.fleet.devices[device_id(1)].pc_id == "PC-01"


@pytest.mark.req("DI-18")
async def test_an_upsert_that_is_repeated_with_its_key_asks_for_the_same_commands(office):
    for _ in range(2):
        assert (await office.ask("POST", BY_SERIAL, PHONE | {"pc_id": "PC-02"}, **MERGE, **KEYED)).status == 201
    assert office.bus.commands[1] == ChangeDevice(device_id(1), "P1-G1", "PC-02")
    assert len({sent["id"] for sent in office.bus.sent}) == 1


async def test_phones_are_told_apart_by_serial_number_or_id_only(office):
    answer = await office.ask("POST", "devices?on_conflict=pc_id", PHONE, **MERGE)
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, "on_conflict")


@pytest.mark.req("DI-18")
@pytest.mark.parametrize("table", ["workers?on_conflict=id", "pcs?on_conflict=id", "pcs"])
async def test_a_pc_that_is_there_is_changed_or_left_alone(office, table):
    column = "capacity" if table.startswith("pcs") else "device_capacity"
    answer = await office.ask("POST", table, {"id": "PC-01", column: 7}, **MERGE)
    assert (answer.status, (await answer.json())[0][column]) == (201, 7)
    answer = await office.ask("POST", table, [{"id": "PC-01", column: 3}, {"id": "PC-02", column: 3}], **IGNORE)
    assert (answer.status, [row["id"] for row in await answer.json()]) == (201, ["PC-02"])
    assert [office.roster.fleet.pcs[pc].capacity for pc in ("PC-01", "PC-02")] == [7, 3]
    assert RegisterPc("PC-02", 3, is_new=True) in office.bus.commands


@pytest.mark.req("DI-18")
async def test_a_composition_that_is_there_is_changed_or_left_alone(renders):
    path = "aep_compositions?on_conflict=id"
    await renders.ask("POST", path, {"id": "comp_1", "name": "Clock", "template": "a.aep"}, **MERGE)
    answer = await renders.ask("POST", path, {"id": "comp_1", "template": "b.aep"}, **MERGE)
    (row,) = await answer.json()
    assert (answer.status, row["name"], row["template"]) == (201, "Clock", "b.aep")
    answer = await renders.ask("POST", path, {"id": "comp_1", "template": "c.aep"}, **IGNORE)
    assert (answer.status, await answer.json()) == (201, [])
    assert renders.bus.queue.compositions["comp_1"].spec.template == "b.aep"


@pytest.mark.req("DI-18")
async def test_an_upsert_of_a_field_keeps_what_it_does_not_tell(renders):
    path = "aep_field_mapping?on_conflict=composition_id,field_name"
    field = {"composition_id": "comp_1", "field_name": "flag", "layer_name": "Flag"}
    await renders.ask("POST", path, field | {"kind": "image", "property": "Source"}, **MERGE)
    for layer_name in ("Other", "Other"):  # the second changes nothing
        answer = await renders.ask("POST", path, field | {"layer_name": layer_name}, **MERGE)
        (row,) = await answer.json()
        assert (row["id"], row["layer_name"], row["kind"], row["property"]) == (1, "Other", "image", "Source")
