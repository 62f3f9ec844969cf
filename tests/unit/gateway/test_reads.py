"""Reads at the edge: who may, how fresh, and what happens while the database is away."""

from __future__ import annotations

import asyncio

import pytest


async def test_while_the_database_is_away_reads_are_503_and_heartbeats_go_on(world):
    await world.register()
    answer = await world.client.get("/rest/v1/devices", headers=world.anon)
    assert (answer.status, (await answer.json())["code"]) == (503, "UNAVAILABLE")
    assert "Retry-After" in answer.headers
    url = "/rest/v1/devices?serial_number=eq.ABC12345"
    assert (await world.client.patch(url, json={}, headers=world.anon)).status == 204


@pytest.mark.parametrize("relation", ["pcs", "events"])
async def test_the_back_offices_relations_are_not_for_phones(world, relation):
    answer = await world.client.get(f"/rest/v1/{relation}", headers=world.anon)
    assert (answer.status, (await answer.json())["code"]) == (403, "42501")
    assert world.pool.asked == 0


async def test_a_position_that_is_not_reached_is_503(world):
    headers = world.anon | {"Drover-Min-Position": "render=9,fleet=5"}
    answer = await world.client.get("/rest/v1/devices", headers=headers)
    assert (answer.status, (await answer.json())["code"]) == (503, "READ_MODEL_BEHIND")
    assert "Retry-After" in answer.headers
    assert world.positions.waits == [("fleet", 5, 2.0)]
    assert world.pool.asked == 0


async def test_a_read_waits_for_every_earlier_write_whoever_wrote_it(world):
    await world.register("AAAAAAA1")
    await world.register("AAAAAAA2")
    for key in (world.service, world.anon):
        world.positions.waits.clear()
        await world.client.get("/rest/v1/devices", headers=key)
        ((place, seq, within_s),) = world.positions.waits
        assert (place, seq, within_s) == ("fleet", 2, pytest.approx(1.0, abs=0.2))
    assert world.pool.asked == 2, "late or not, it is answered"


async def test_a_poll_does_not_wait_for_the_writes_of_others(world):
    mine = await world.phone("AAAAAAA1")
    await world.register("AAAAAAA2")
    world.roster_at.waits.clear()
    assert await (await world.poll(mine)).json() == []
    assert world.roster_at.waits == world.positions.waits == []


async def test_a_key_that_is_bound_to_a_device_sees_its_own_rows_only(world):
    device_id = await world.phone()
    for relation in ("devices", "job_assignments", "devices?select=*,job_assignments(*)"):
        await world.client.get(f"/rest/v1/{relation}", headers=world.bound(device_id))
        assert device_id in world.pool.parameters, relation
        await world.client.get(f"/rest/v1/{relation}", headers=world.anon)
        assert device_id not in world.pool.parameters, relation
    answer = await world.client.get("/rest/v1/pcs", headers=world.bound(device_id))
    assert answer.status == 403


@pytest.mark.req("SE-05")
async def test_the_anon_key_embeds_one_deep(world):
    deep = "/rest/v1/jobs?select=*,job_assignments(*,devices(*))"
    answer = await world.client.get(deep, headers=world.anon)
    assert (answer.status, (await answer.json())["code"]) == (400, "54001")
    assert world.pool.asked == 0
    await world.client.get("/rest/v1/jobs?select=*,job_assignments(*)", headers=world.anon)
    await world.client.get(deep, headers=world.service)
    assert world.pool.asked == 2


@pytest.mark.req("SE-05")
async def test_reads_of_the_anon_key_end_soon_and_leave_connections_to_others(world, monkeypatch):
    asked = asyncio.Event()

    async def slow(query, *args, timeout=None):  # noqa: ASYNC109
        asked.set()
        async with asyncio.timeout(timeout):
            await asyncio.Event().wait()

    fast = world.pool.fetchrow
    monkeypatch.setattr(world.pool, "fetchrow", slow)
    reads = [asyncio.create_task(world.client.get("/rest/v1/jobs", headers=world.anon)) for _ in range(8)]
    await asked.wait()
    monkeypatch.setattr(world.pool, "fetchrow", fast)
    world.pool.rows = []
    assert (await world.client.get("/rest/v1/jobs", headers=world.service)).status == 200
    answers = [await read for read in reads]
    assert sorted(answer.status for answer in answers) == [200] * 7 + [503], "each had its turn when the first was over"
    (late,) = [answer for answer in answers if answer.status == 503]
    assert (await late.json())["code"] == "57014"
    assert "Retry-After" in late.headers


async def test_health_and_metrics(world):
    assert (await world.client.get("/livez")).status == 200
    answer = await world.client.get("/readyz")
    assert (answer.status, await answer.json()) == (
        503,
        {"status": "not ok", "reasons": {"process": "The process is starting."}},
    )
    world.health.started()
    assert (await world.client.get("/readyz")).status == 200
    await world.client.get("/rest/v1/whatever-1234", headers=world.anon)
    text = await (await world.client.get("/metrics")).text()
    assert 'drover_http_requests_total{method="GET",route="/readyz",status="5xx"}' in text
    assert "whatever-1234" not in text, "a path that clients choose must not become a label"
    assert "# HELP drover_http_request_duration_seconds " in text


async def test_reads_that_wait_for_a_position_are_bounded(world, monkeypatch):
    monkeypatch.setattr("drover.web.freshness.HARD_WAITS_MAX", 0)
    headers = world.service | {"Drover-Min-Position": "fleet=1"}
    answer = await world.client.get("/rest/v1/devices", headers=headers)
    assert (answer.status, (await answer.json())["code"]) == (503, "READ_MODEL_BEHIND")
    assert world.positions.waits == []
