"""What the users' dashboard (000) does and is told, with the real supabase-py and an agent's calls, on real servers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID

import aiohttp
import pytest
from postgrest.exceptions import APIError
from supabase import acreate_client

from drover.testing.waiting import eventually

JOB = {
    "title": "First watch",
    "target_url": "https://youtu.be/dQw4w9WgXcQ",
    "script_type": "youtube_watch",
    "duration_min_pct": 30,
    "duration_max_pct": 90,
    "prob_like": 50,
    "prob_comment": 30,
    "prob_playlist": 10,
    "is_active": True,
    "base_reward": 10,
}
MAY_CREATE = {"DROVER_ANON_MAY_CREATE_JOBS": "1"}


def base(farm) -> str:
    return farm.url.removesuffix("/rest/v1")


@pytest.fixture
async def http(farm) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.mark.req("DF-07")
@pytest.mark.parametrize("farm", [MAY_CREATE], indirect=True)
async def test_a_dashboard_creates_a_job_with_the_anon_key_and_gets_the_row(farm, http):
    headers = {"Authorization": f"Bearer {farm.anon_key}", "Prefer": "return=representation"}
    async with http.post(f"{farm.url}/jobs", json=JOB, headers=headers) as answer:
        (row,) = await answer.json()
        assert (answer.status, answer.headers["Preference-Applied"]) == (201, "return=representation")
    assert {name: row[name] for name in JOB} == JOB
    assert UUID(row["id"]) and row["created_at"]
    dashboard = await acreate_client(base(farm), farm.anon_key)
    read = (await dashboard.table("jobs").select("*").eq("id", row["id"]).single().execute()).data
    assert {name: read[name] for name in JOB} == JOB


@pytest.mark.req("DF-07", "DF-29")
@pytest.mark.parametrize("farm", [MAY_CREATE], indirect=True)
async def test_a_job_that_breaks_a_rule_is_refused_with_its_field_and_value(farm):
    dashboard = await acreate_client(base(farm), farm.anon_key)
    with pytest.raises(APIError) as refused:
        await dashboard.table("jobs").insert(JOB | {"duration_max_pct": 20}).execute()
    assert (refused.value.code, refused.value.message) == (
        "VALIDATION_ERROR",
        "duration_max_pct must be >= duration_min_pct",
    )
    assert refused.value.details["field"] == "duration_max_pct"
    assert refused.value.details["value"] == 20
    assert (await dashboard.table("jobs").select("id").execute()).data == []


@pytest.mark.req("DF-07", "DF-29")
async def test_a_job_with_a_wrong_key_or_one_that_may_not_is_refused(farm, http):
    for headers in ({"Authorization": "Bearer not-a-key"}, {}):
        async with http.post(f"{farm.url}/jobs", json=JOB, headers=headers) as answer:
            body = await answer.json()
            assert (answer.status, body["code"]) == (401, "UNAUTHORIZED")
            assert body["message"] == "Invalid API key"
    dashboard = await acreate_client(base(farm), farm.anon_key)
    with pytest.raises(APIError) as refused:
        await dashboard.table("jobs").insert(JOB).execute()
    assert refused.value.code == "42501", "unless a setting allows it"


@pytest.mark.req("DF-19")
async def test_a_phone_that_ignores_429_is_stopped_for_five_minutes_and_the_dashboard_has_an_alert(farm, http):
    office = await acreate_client(base(farm), farm.service_key)
    phones = [{"serial_number": f"SERIAL{n:04}", "group_id": "P1-G1", "pc_id": "PC-1"} for n in range(2)]
    loud, calm = (await office.table("devices").insert(phones).execute()).data
    headers = {"apikey": farm.anon_key, "Authorization": f"Bearer {farm.anon_key}"}

    async def poll(device_id: str) -> tuple[int, str | None]:
        params = {"select": "*,jobs(*)", "device_id": f"eq.{device_id}", "status": "eq.pending", "limit": "1"}
        async with http.get(f"{farm.url}/job_assignments", params=params, headers=headers) as answer:
            return answer.status, answer.headers.get("Retry-After")

    answers = []
    while answers[-1:] != [(429, "300")]:
        assert len(answers) < 500, "never stopped"
        answers.append(await poll(loud["id"]))
    assert answers[:20] == [(200, None)] * 20, "a burst is let through"
    slowed = [wait for status, wait in answers[:-1] if status == 429]
    assert slowed[-2:] == ["1", "1"], "it was asked to wait before"
    assert [status for status, _ in answers[-3:]] == [429, 429, 429]
    assert (await poll(loud["id"]))[0] == 429
    assert await poll(calm["id"]) == (200, None), "nobody else is concerned"
    beat = {"status": "online"}
    async with http.patch(f"{farm.url}/devices?serial_number=eq.SERIAL0000", json=beat, headers=headers) as answer:
        assert answer.status == 204, "a heartbeat still arrives"

    async def alerts():
        return (await office.table("alerts").select("kind,subject,resolved_at").execute()).data

    assert await eventually(alerts) == [{"kind": "rate_limited", "subject": loud["id"], "resolved_at": None}]
