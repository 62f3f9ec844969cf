"""A phone's first minutes on the whole platform: registered, heard, online, and all of it on record."""

from __future__ import annotations

import pytest

from drover.testing.waiting import eventually
from tests.e2e.client import device

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{TRACE_ID}-00f067aa0ba902b7-01"


@pytest.mark.req("EV-02", "EV-03", "DF-01", "DF-04", "DF-11", "DF-25")
async def test_a_phone_is_registered_heartbeats_and_comes_online(http):
    made = await http.register("FIRST00001", headers={"Prefer": "return=representation", "traceparent": TRACEPARENT})
    assert made.status == 201
    (registered,) = made.json
    assert (registered["serial_number"], registered["status"]) == ("FIRST00001", "offline")
    at_least = {"Drover-Min-Position": made.headers["Drover-Position"]}
    await http.reach(made.headers["Drover-Position"])

    (row,) = await http.rows("devices", "serial_number=eq.FIRST00001", headers=at_least, anon=True)
    same = registered.keys() - {"created_at", "updated_at"}  # the same moments, written in another way
    assert {name: row[name] for name in same} == {name: registered[name] for name in same}

    assert (await http.beat("FIRST00001")).status == 204

    async def online():
        (row,) = await http.rows("devices", "serial_number=eq.FIRST00001", anon=True)
        return row if row["status"] == "online" else None

    assert (await eventually(online))["last_seen_at"] is not None

    events = await http.rows("events", f"entities=cs.{{{registered['id']}}}&order=n")
    assert [event["type"] for event in events] == ["DeviceRegistered", "DeviceCameOnline"]
    first, second = events
    assert first["by"] == "service_role"
    assert first["trace"].split("-")[1] == TRACE_ID
    assert first["cause"]
    assert f"fleet={first['seq']}" == made.headers["Drover-Position"]
    assert second["by"] == "presence"
    assert second["cause"] not in (first["cause"], "", None)
    assert first["n"] < second["n"]


@pytest.mark.req("EV-03")
async def test_whoever_writes_reads_it_at_once(http):
    for number in range(25):
        serial = f"READOWN{number:03}"
        made = await http.register(serial)
        at_least = {"Drover-Min-Position": made.headers["Drover-Position"]}
        assert await http.rows("devices", f"serial_number=eq.{serial}&select=serial_number", headers=at_least) == [
            {"serial_number": serial}
        ]


async def test_a_repeat_with_the_same_key_has_no_second_effect(http):
    answers = [await http.register("REPEAT0001", headers={"Idempotency-Key": "first"}) for _ in range(3)]
    assert {answer.status for answer in answers} == {201}
    assert len({answer.headers["Drover-Position"] for answer in answers}) == 1
    other = await http.call("POST", "/rest/v1/devices", json=device("REPEAT0002"), headers={"Idempotency-Key": "first"})
    assert (other.status, other.code) == (422, "IDEMPOTENCY_MISMATCH")
    again = await http.register("REPEAT0001", headers={"Idempotency-Key": "second"})
    assert (again.status, again.code) == (409, "23505")
    assert [serial for serial in await http.serials() if serial.startswith("REPEAT")] == ["REPEAT0001"]


@pytest.mark.req("DF-11")
async def test_the_heartbeat_of_an_unknown_phone_is_404_and_without_a_key_401(http):
    assert (await http.beat("UNKNOWN001")).status == 404
    assert (await http.beat("UNKNOWN001", headers={"apikey": ""})).status == 401


@pytest.mark.req("SE-02")
async def test_by_default_the_anon_key_registers_too_where_only_this_machine_reaches_drover(http):
    assert (await http.call("POST", "/rest/v1/devices", anon=True, json=device("FIRST0ANON"))).status == 201
