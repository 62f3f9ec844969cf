"""PCs at the edge: known or changed by a POST, changed by a PATCH."""

from __future__ import annotations

import pytest

from drover.domain.fleet.commands import MarkOffline, RegisterPc
from drover.readmodel.models import RELATIONS
from tests.unit.gateway.office import device_id, open_office

SHOW = {"Prefer": "return=representation"}


@pytest.fixture
async def office():
    async with open_office() as office:
        yield office


async def test_a_pc_shows_its_phones(office):
    office.phones(1, 2)
    office.bus.do(MarkOffline(device_id(2)))
    answer = await office.ask("POST", "pcs", {"id": "PC-01", "capacity": 5}, **SHOW)
    (row,) = await answer.json()
    assert answer.status == 201
    assert row.keys() == RELATIONS["pcs"].columns.keys()
    assert (row["capacity"], row["device_count"], row["online"], row["offline"]) == (5, 2, 1, 1)


@pytest.mark.parametrize("pc_id", ["", "../etc", "x" * 65])
async def test_a_bad_id_is_told_by_the_name_that_the_client_used(office, pc_id):
    answer = await office.ask("POST", "pcs", {"id": pc_id})
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, "id")
    answer = await office.ask("POST", "pcs", [{"id": "PC-01"}, {"id": pc_id}])
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, "[1].id")
    assert office.bus.sent == []


async def test_the_same_pc_twice_in_a_body_is_400(office):
    answer = await office.ask("POST", "pcs", [{"id": "PC-01"}, {"id": "PC-01", "capacity": 5}])
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, "[1].id")


async def test_a_patch_changes_the_capacity(office):
    office.phones(1)
    answer = await office.ask("PATCH", "pcs?id=eq.PC-01", {"capacity": 7})
    assert (answer.status, await answer.read(), answer.headers["Drover-Position"]) == (204, b"", "fleet=3")
    assert office.bus.commands == [RegisterPc("PC-01", 7)]


async def test_a_patch_of_several_changes_those_that_are_there_and_makes_none(office):
    office.phones(1)
    office.phones(2, pc="PC-02")
    path = "pcs?id=in.(PC-01,PC-09,PC-02)&select=id,capacity"
    answer = await office.ask("PATCH", path, {"capacity": 7}, **SHOW)
    assert await answer.json() == [{"id": "PC-01", "capacity": 7}, {"id": "PC-02", "capacity": 7}]
    assert "PC-09" not in office.roster.fleet.pcs


async def test_a_pc_that_nobody_knows_is_404_or_503_while_the_roster_is_read(office):
    answer = await office.ask("PATCH", "pcs?id=eq.PC-09", {"capacity": 7})
    assert (answer.status, (await answer.json())["code"]) == (404, "NOT_FOUND")
    office.roster.complete = False
    assert (await office.ask("PATCH", "pcs?id=eq.PC-09", {"capacity": 7})).status == 503
    assert office.bus.sent == []


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "capacity"), ({"capacity": 0}, "capacity"), ({"capacity": 21}, "capacity"), ({"id": "x"}, "id")],
)
async def test_a_bad_patch_is_400_by_name(office, body, field):
    office.phones(1)
    answer = await office.ask("PATCH", "pcs?id=eq.PC-01", body)
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, field)
    assert office.bus.sent == []


async def test_the_key_in_every_phone_changes_no_pc(office):
    office.phones(1)
    assert (await office.ask("PATCH", "pcs?id=eq.PC-01", {"capacity": 7}, key=office.anon)).status == 403
    assert office.bus.sent == []
