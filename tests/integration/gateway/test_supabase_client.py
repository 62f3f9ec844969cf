"""The gateway as a real Supabase client (`postgrest`) sees it, on real servers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from postgrest import AsyncPostgrestClient, CountMethod
from postgrest.exceptions import APIError

from drover.testing.waiting import eventually
from drover.web import freshness


def client(url: str, key: str) -> AsyncPostgrestClient:
    return AsyncPostgrestClient(url, headers={"apikey": key, "Authorization": f"Bearer {key}"})


@pytest.fixture
async def office(farm) -> AsyncIterator[AsyncPostgrestClient]:
    async with client(farm.url, farm.service_key) as office:
        yield office


@pytest.fixture
async def phone(farm) -> AsyncIterator[AsyncPostgrestClient]:
    async with client(farm.url, farm.anon_key) as phone:
        yield phone


def row(serial: str, pc: str = "pc-1") -> dict[str, object]:
    return {"serial_number": serial, "group_id": "P1-G1", "pc_id": pc, "capabilities": ["age_verified"]}


async def test_devices_go_in_by_command_and_come_back_by_the_read_model(farm, office, phone):
    serials = [f"SERIAL{n:03}" for n in range(25)]
    made = (await office.table("devices").insert([row(serial) for serial in serials]).execute()).data
    assert [device["serial_number"] for device in made] == serials

    # No header asks for it: a caller sees its own writes.
    read = await office.table("devices").select("*", count=CountMethod.exact).order("serial_number").limit(10).execute()
    assert read.count == 25
    assert [device["serial_number"] for device in read.data] == serials[:10]
    assert {key: read.data[0][key] for key in made[0]} == made[0] | {
        moment: read.data[0][moment] for moment in ("created_at", "updated_at")
    }

    one = await phone.table("devices").select("serial:serial_number,pc_id").eq("id", made[3]["id"]).single().execute()
    assert one.data == {"serial": "SERIAL003", "pc_id": "pc-1"}

    some = await (
        phone.table("devices")
        .select("serial_number")
        .in_("serial_number", ["SERIAL001", "SERIAL007", 'a,"b'])
        .neq("status", "busy")
        .contains("capabilities", ["age_verified"])
        .or_("pc_id.eq.pc-1,and(pc_id.eq.pc-2,status.eq.online)")
        .order("serial_number", desc=True)
        .execute()
    )
    assert [device["serial_number"] for device in some.data] == ["SERIAL007", "SERIAL001"]

    (pc,) = (await office.table("pcs").select("id,capacity,device_count,offline").execute()).data
    assert pc == {"id": "pc-1", "capacity": 20, "device_count": 25, "offline": 25}

    events = await office.table("events").select("type,by,data").eq("type", "DeviceRegistered").limit(1).execute()
    assert events.data[0]["by"] == "service_role"
    assert events.data[0]["data"]["serial_number"] == "SERIAL000"


async def test_a_range_and_a_count_page_through(office):
    await office.table("devices").insert([row(f"SERIAL{n:03}") for n in range(5)]).execute()
    page = await office.table("devices").select("serial_number", count=CountMethod.exact).range(3, 9).execute()
    assert (page.count, len(page.data)) == (5, 2)
    only_count = await office.table("devices").select("*", count=CountMethod.exact, head=True).execute()
    assert only_count.count == 5
    with pytest.raises(APIError) as caught:
        await office.table("devices").select("*", count=CountMethod.exact).range(50, 60).execute()
    assert caught.value.code == "PGRST103"


@pytest.mark.req("DF-11")
async def test_a_heartbeat_by_the_client_is_answered_from_memory(farm, office, phone):
    (device,) = (await office.table("devices").insert(row("SERIAL001")).execute()).data
    await eventually(lambda: "SERIAL001" in farm.roster.fleet.device_by_serial)
    beaten = await phone.table("devices").update({"status": "online"}).eq("serial_number", "SERIAL001").execute()
    assert beaten.data[0]["id"] == device["id"]
    with pytest.raises(APIError) as caught:
        await phone.table("devices").update({"status": "online"}).eq("serial_number", "UNKNOWN1").execute()
    assert (caught.value.code, caught.value.message) == ("NOT_FOUND", "Device not found")


async def test_errors_reach_the_client_with_their_codes(office, phone):
    await office.table("devices").insert(row("SERIAL001")).execute()
    for code, request in (
        ("23505", office.table("devices").insert(row("SERIAL001"))),
        ("VALIDATION_ERROR", office.table("devices").insert(row("bad"))),
        ("42501", phone.table("devices").insert(row("SERIAL002"))),
        ("42501", phone.table("events").select("*")),
        ("42703", phone.table("devices").select("nope")),
        ("22P02", phone.table("devices").select("*").eq("id", "nope")),
        ("22007", phone.table("devices").select("*").gt("created_at", "nonsense")),
        ("22P02", office.table("events").select("*").contains("data", "{nonsense")),
        ("PGRST116", phone.table("devices").select("*").eq("serial_number", "NOBODY00").single()),
        ("PGRST205", phone.table("nope").select("*")),
        ("PGRST106", phone.schema("private").table("devices").select("*")),
    ):
        with pytest.raises(APIError) as caught:
            await request.execute()
        assert caught.value.code == code


async def test_a_trace_and_a_key_go_all_the_way_into_the_log(farm, office, monkeypatch):
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    headers = {
        "apikey": farm.service_key,
        "Idempotency-Key": "register-1",
        "traceparent": f"00-{trace_id}-00f067aa0ba902b7-01",
        "Prefer": "return=representation",
    }
    async with aiohttp.ClientSession(headers=headers) as session:
        answers = []
        for _ in range(2):
            async with session.post(f"{farm.url}/devices", json=row("SERIAL001")) as answer:
                assert answer.status == 201, await answer.text()
                answers.append((answer.headers["Drover-Position"], await answer.json()))
        assert answers[0] == answers[1], "a repeat has no further effect and gets the same answer"
        async with session.post(f"{farm.url}/devices", json=row("SERIAL002")) as answer:
            assert (answer.status, (await answer.json())["code"]) == (422, "IDEMPOTENCY_MISMATCH")
        async with session.get(
            f"{farm.url}/events?type=eq.DeviceRegistered&select=trace",
            headers={"Drover-Min-Position": answers[0][0]},
        ) as answer:
            (event,) = await answer.json()
            assert event["trace"].split("-")[1] == trace_id
        monkeypatch.setattr(freshness, "HARD_WAIT_S", 0.05)
        async with session.get(f"{farm.url}/events", headers={"Drover-Min-Position": "fleet=999999"}) as answer:
            assert (answer.status, (await answer.json())["code"]) == (503, "READ_MODEL_BEHIND")
