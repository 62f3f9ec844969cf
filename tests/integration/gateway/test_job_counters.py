"""The counters of a job over HTTP: however it ends, every phone that it is for is counted once."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from drover.testing.waiting import eventually
from tests.integration.api.rows_platform import Platform, platform_on

COUNTERS = ("pending", "running", "retrying", "completed", "failed", "cancelled", "skipped")
PATIENCE_S = 60.0
PHONES = 4
ONLINE = 3


@pytest.fixture
async def platform(own_nats, postgres_dsn) -> AsyncIterator[Platform]:
    async with platform_on(own_nats.url, postgres_dsn) as made:
        yield made


async def counters(platform):
    (job,) = await platform.read_all("jobs")
    return {name: job[name] for name in COUNTERS}


async def change(platform, job, body):
    url = f"{platform.url}/rest/v1/jobs?id=eq.{job}"
    async with platform.http.patch(url, json=body, headers={"apikey": platform.key()}) as answer:
        assert answer.status == 204, await answer.text()


async def job_for_everybody(platform):
    for _ in range(ONLINE):
        await platform.register()
    absent = {"serial_number": "ABSENT0001", "group_id": "P1-G1", "pc_id": "PC-09"}
    await platform.write("devices", absent)
    job = await platform.create_job()

    async def is_handed_out():
        return (await counters(platform))["pending"] == ONLINE

    await eventually(is_handed_out, PATIENCE_S)
    return job


@pytest.mark.req("DF-06")
@pytest.mark.parametrize("end", [{"status": "cancelled"}, {"is_active": False}], ids=["cancelled", "deactivated"])
async def test_a_job_that_a_person_ends_counts_the_phones_that_had_it_and_those_that_it_did_not_reach(platform, end):
    job = await job_for_everybody(platform)
    await change(platform, job, end)

    async def is_settled():
        return (await counters(platform))["pending"] == 0

    await eventually(is_settled, PATIENCE_S)
    assert await counters(platform) == dict.fromkeys(COUNTERS, 0) | {"cancelled": ONLINE, "skipped": PHONES - ONLINE}


@pytest.mark.req("DF-06")
async def test_phones_whose_work_a_pause_took_back_are_counted_when_the_job_is_cancelled(platform):
    job = await job_for_everybody(platform)
    await change(platform, job, {"status": "paused"})

    async def is_taken_back():
        return (await counters(platform))["pending"] == 0

    await eventually(is_taken_back, PATIENCE_S)
    await change(platform, job, {"status": "cancelled"})
    assert sum((await counters(platform)).values()) == PHONES
