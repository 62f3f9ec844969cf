"""The heartbeat: roster and telemetry, nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

URL = "/rest/v1/devices?serial_number=eq.ABC12345"
BODY = {"last_seen_at": "2024-01-29T10:30:00Z", "status": "online"}


@pytest.mark.req("DF-11")
async def test_a_heartbeat_is_204_without_a_body_and_touches_only_telemetry(world):
    device = await world.register()
    sent = len(world.bus.sent)
    answer = await world.client.patch(URL, json=BODY, headers=world.anon)
    assert (answer.status, await answer.read()) == (204, b"")
    ((device_id, seen_at, reported),) = world.telemetry.heard
    assert device_id == device["id"]
    assert abs(datetime.now(UTC) - seen_at) < timedelta(seconds=5), "the phone's clock is a claim, ours counts"
    assert reported == {"status": "online", "last_seen_at": datetime(2024, 1, 29, 10, 30, tzinfo=UTC)}
    assert len(world.bus.sent) == sent
    assert world.pool.asked == 0


@pytest.mark.req("DF-11")
async def test_an_unknown_device_is_404(world):
    answer = await world.client.patch(URL, json=BODY, headers=world.anon)
    assert answer.status == 404
    assert await answer.json() == {"code": "NOT_FOUND", "message": "Device not found", "details": None, "hint": None}
    assert world.telemetry.heard == []


@pytest.mark.req("DF-29")
async def test_without_a_key_it_is_401(world):
    answer = await world.client.patch(URL, json=BODY)
    body = await answer.json()
    assert answer.status == 401
    assert (body["code"], body["message"]) == ("UNAUTHORIZED", "Invalid API key")
    assert "WWW-Authenticate" in answer.headers


async def test_a_representation_comes_from_memory(world):
    device = await world.register()
    answer = await world.client.patch(URL, json=BODY, headers=world.anon | {"Prefer": "return=representation"})
    assert answer.status == 200
    (row,) = await answer.json()
    assert row.pop("last_seen_at") is not None
    assert row == {name: value for name, value in device.items() if name != "last_seen_at"}
    assert answer.headers["Preference-Applied"] == "return=representation"
    assert world.pool.asked == 0


async def test_a_representation_can_be_narrowed(world):
    await world.register()
    url = f"{URL}&select=serial:serial_number,status"
    answer = await world.client.patch(url, json=BODY, headers=world.anon | {"Prefer": "return=representation"})
    assert await answer.json() == [{"serial": "ABC12345", "status": "offline"}]


async def test_devices_can_be_named_by_id_and_several_at_once(world):
    first, second = await world.register("AAAAAAA1"), await world.register("AAAAAAA2")
    for query in (
        f"id=eq.{first['id'].upper()}",
        f"id=in.({first['id']},{second['id']})",
        "serial_number=in.(AAAAAAA1,AAAAAAA2,UNKNOWN99)",
    ):
        answer = await world.client.patch(f"/rest/v1/devices?{query}", json={}, headers=world.anon)
        assert answer.status == 204, await answer.text()
    heard = [device_id for device_id, _, _ in world.telemetry.heard]
    assert heard == [first["id"], *(first["id"], second["id"]), *(first["id"], second["id"])]
    assert world.telemetry.heard[0][2] is None


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("", 400, "VALIDATION_ERROR"),
        ("colour=eq.red", 400, "42703"),
        ("serial_number=ABC12345", 400, "PGRST100"),
        ("serial_number=eq.%00", 400, "PGRST100"),
        ("id=eq.nonsense", 400, "22P02"),
        ("serial_number=eq.lower-case", 404, "NOT_FOUND"),
        ("serial_number=eq.", 404, "NOT_FOUND"),
        ("serial_number=in.()", 404, "NOT_FOUND"),
    ],
)
async def test_bad_filters_are_refused(world, query, status, code):
    await world.register()
    answer = await world.client.patch(f"/rest/v1/devices?{query}", json=BODY, headers=world.anon)
    assert (answer.status, (await answer.json())["code"]) == (status, code)
    assert world.telemetry.heard == []


@pytest.mark.parametrize("query", ["status=eq.online", "serial_number=neq.X", "or=(serial_number.eq.ABC12345)"])
async def test_other_filters_need_the_read_model(world, query):
    await world.register()
    answer = await world.client.patch(f"/rest/v1/devices?{query}", json=BODY, headers=world.anon)
    assert (answer.status, world.pool.asked, world.telemetry.heard) == (503, 1, [])


async def test_while_the_roster_is_loading_an_unknown_device_is_told_to_come_back_not_that_it_is_unknown(world):
    world.roster.complete = False
    answer = await world.client.patch("/rest/v1/devices?serial_number=eq.ABC12345", json={}, headers=world.anon)
    assert answer.status == 503
    assert answer.headers["Retry-After"]


@pytest.mark.req("DF-25")
async def test_what_a_phone_says_of_itself_is_passed_on_as_a_claim(world):
    await world.register()
    body = {"status": "busy", "screen_locked": False, "battery_pct": 19}
    assert (await world.client.patch(URL, json=body, headers=world.anon)).status == 204
    assert world.telemetry.heard[-1][2] == body
    for bad in ({"battery_pct": 101}, {"battery_pct": None}, {"screen_locked": "no"}):
        assert (await world.client.patch(URL, json=bad, headers=world.anon)).status == 400
    assert len(world.telemetry.heard) == 1


async def test_a_key_that_is_bound_to_a_device_beats_for_that_one_only(world):
    mine, other = await world.register("AAAAAAA1"), await world.register("AAAAAAA2")
    key = world.bound(mine["id"])
    for query, status in (
        ("serial_number=eq.AAAAAAA1", 204),
        ("serial_number=eq.AAAAAAA2", 403),
        (f"id=in.({mine['id']},{other['id']})", 403),
    ):
        answer = await world.client.patch(f"/rest/v1/devices?{query}", json={}, headers=key)
        assert answer.status == status
    assert [heard[0] for heard in world.telemetry.heard] == [mine["id"]]


async def test_a_phone_that_beats_like_mad_is_told_to_wait(world):
    await world.register()
    answers = [await world.client.patch(URL, json={}, headers=world.anon) for _ in range(150)]
    slow = [answer for answer in answers if answer.status == 429]
    assert [answer.status for answer in answers[:80]] == [204] * 80
    assert slow and {answer.headers["Retry-After"] for answer in slow} == {"1"}, "a moment, and never five minutes"


@pytest.mark.req("DI-09")
async def test_a_phone_that_says_error_is_in_error_and_says_so_only_once(world):
    await world.phone()
    for _ in range(2):
        answer = await world.client.patch(
            "/rest/v1/devices?serial_number=eq.ABC12345", json={"status": "error"}, headers=world.anon
        )
        assert answer.status == 204
    assert [type(command).__name__ for command in world.bus.commands] == ["ReportDeviceError"]
    assert world.roster.device("ABC12345").status == "error"
