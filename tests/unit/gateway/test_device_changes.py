"""What the back office writes to devices, and what stays a heartbeat."""

from __future__ import annotations

import pytest

from drover.domain.fleet.commands import ChangeDevice, RegisterDevice, ReportFailed, ResetDevice
from drover.domain.fleet.state import DeviceStatus

SHOWN = {"Prefer": "return=representation"}


async def patch(world, device_id, body, *, key=None, **headers):
    url = f"/rest/v1/devices?id=eq.{device_id}"
    return await world.client.patch(url, json=body, headers=(key or world.service) | headers)


async def in_error(world) -> str:
    device_id = await world.phone()
    world.job()
    world.bus.do(ReportFailed(world.running(device_id).assignment_id, 1, error_code="OUT_OF_MEMORY"))
    assert world.roster.fleet.devices[device_id].status is DeviceStatus.ERROR
    world.bus.sent.clear()
    return device_id


async def test_a_device_is_moved_and_learns(world):
    device_id = await world.phone()
    change = {"group_id": "P2-G7", "pc_id": "pc-2", "capabilities": ["age_verified"]}
    answer = await patch(world, device_id, change, **SHOWN)
    (row,) = await answer.json()
    assert answer.status == 200
    assert {name: row[name] for name in change} == change
    assert answer.headers["Drover-Position"] == f"fleet={world.roster_at.waits[-1][1]}", "it waited for the roster"
    assert world.bus.commands == [ChangeDevice(device_id, "P2-G7", "pc-2", ["age_verified"])]
    assert world.telemetry.heard == [], "nobody heard the phone"
    assert (await patch(world, device_id, {"capabilities": []})).status == 204
    assert world.roster.fleet.devices[device_id].capabilities == []
    assert world.roster.fleet.devices[device_id].group_id == "P2-G7", "what is not said stays"


@pytest.mark.req("DF-04")
@pytest.mark.parametrize("body", [{"error": None}, {"status": "offline"}, {"status": "offline", "error": None}])
async def test_a_person_ends_the_error_of_a_device(world, body):
    device_id = await in_error(world)
    answer = await patch(world, device_id, body, **SHOWN)
    (row,) = await answer.json()
    assert (row["status"], row["error_code"]) == ("offline", None)
    assert world.bus.commands == [ResetDevice(device_id)]
    assert (await patch(world, device_id, body)).status == 204, "again does nothing"
    assert len(world.bus.sent) == 1
    assert world.telemetry.heard == []


@pytest.mark.req("DI-12")
@pytest.mark.parametrize("world", [{"DROVER_ANON": "full"}], indirect=True)
async def test_a_dashboard_with_the_anon_key_resets_and_moves_a_phone_where_it_may_do_everything(world):
    device_id = await in_error(world)
    url = "/rest/v1/devices?serial_number=eq.ABC12345"
    beat = {"last_seen_at": "2024-01-29T10:30:00Z", "status": "offline"}
    assert (await world.client.patch(url, json=beat, headers=world.anon)).status == 204
    assert world.roster.fleet.devices[device_id].status is DeviceStatus.ERROR, "a heartbeat resets nothing"
    assert (await world.client.patch(url, json={"status": "offline"}, headers=world.anon)).status == 204
    assert (await patch(world, device_id, {"pc_id": "pc-2"}, key=world.anon)).status == 204
    assert world.bus.commands == [ResetDevice(device_id), ChangeDevice(device_id, pc_id="pc-2")]
    assert len(world.telemetry.heard) == 1


async def test_an_agent_with_the_service_key_beats_like_any_other(world):
    device_id = await in_error(world)
    for body in ({}, {"status": "online"}, {"last_seen_at": "2024-01-29T10:30:00Z", "status": "offline"}):
        assert (await patch(world, device_id, body)).status == 204
    assert (world.bus.sent, len(world.telemetry.heard)) == ([], 3)
    assert world.roster.fleet.devices[device_id].status is DeviceStatus.ERROR


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"group_id": "nonsense"}, "group_id"),
        ({"group_id": None}, "group_id"),
        ({"pc_id": ""}, "pc_id"),
        ({"capabilities": ["A"]}, "capabilities"),
        ({"error": "x"}, "error"),
        ({"group_id": "P1-G2", "battery_pct": 5}, "status"),
        ({"error": None, "status": "online"}, "status"),
        ({"serial_number": "OTHER123"}, "serial_number"),
    ],
)
async def test_a_bad_change_changes_nothing(world, body, field):
    device_id = await in_error(world)
    answer = await patch(world, device_id, body)
    told = await answer.json()
    assert (answer.status, told["code"], told["details"]["field"]) == (400, "VALIDATION_ERROR", field)
    assert (world.bus.sent, world.telemetry.heard) == ([], [])


@pytest.mark.parametrize("body", [{"group_id": "P2-G7"}, {"error": None}, {"capabilities": []}])
async def test_phones_do_not_change_themselves(world, body):
    device_id = await in_error(world)
    for key in (world.anon, world.bound(device_id)):
        answer = await patch(world, device_id, body, key=key)
        assert (answer.status, (await answer.json())["code"]) == (403, "42501")
    await patch(world, device_id, {"status": "offline"}, key=world.anon)
    assert world.bus.sent == []
    assert world.roster.fleet.devices[device_id].status is DeviceStatus.ERROR


async def test_of_several_each_is_changed_by_itself_and_a_refusal_says_which_were(world):
    first, second = await world.phone("AAAAAAA1"), await world.phone("AAAAAAA2")
    world.bus.sent.clear()
    url = f"/rest/v1/devices?id=in.({first},{second})"
    answer = await world.client.patch(url, json={"group_id": "P3-G3"}, headers=world.service)
    assert answer.status == 204
    world.job()  # both have work in hand now, and stay where they are
    answer = await world.client.patch(url, json={"pc_id": "pc-9", "group_id": "P3-G3"}, headers=world.service)
    told = await answer.json()
    assert (answer.status, told["code"]) == (409, "CONFLICT")
    assert (told["details"]["id"], told["details"]["accepted"]) == (first, [])


async def test_what_cannot_be_shown_is_not_done(world):
    device_id = await world.phone()
    url = f"/rest/v1/devices?id=eq.{device_id}&select=nonsense"
    answer = await world.client.patch(url, json={"group_id": "P2-G7"}, headers=world.service | SHOWN)
    assert answer.status == 400
    headers = world.service | {"Prefer": "handling=strict,max-affected=0"}
    answer = await world.client.patch(url, json={"group_id": "P2-G7"}, headers=headers)
    assert answer.status == 400
    assert world.bus.sent == []


async def test_the_change_of_a_device_that_nobody_knows_is_404(world):
    answer = await patch(world, "00000000-0000-7000-8000-000000000000", {"group_id": "P2-G7"})
    assert (answer.status, (await answer.json())["code"]) == (404, "NOT_FOUND")


@pytest.mark.req("DI-07")
async def test_a_change_by_serial_number_finds_a_device_that_another_process_has_just_registered(world, monkeypatch):
    url, change = "/rest/v1/devices?serial_number=eq.NEW12345", {"group_id": "P2-G7"}
    assert (await world.client.patch(url, json=change, headers=world.service)).status == 404
    device_id = "018f2b5e-0000-7000-8000-000000000077"

    async def registered_meanwhile(place, seq, timeout_s):
        if device_id not in world.roster.fleet.devices:
            world.bus.do(RegisterDevice(device_id, "NEW12345", "P1-G1", "pc-1"))
        return True

    monkeypatch.setattr(world.roster_at, "wait", registered_meanwhile)
    world.newest.observe("fleet", 77)
    assert (await world.client.patch(url, json=change, headers=world.service)).status == 204
    assert world.roster.fleet.devices[device_id].group_id == "P2-G7"
