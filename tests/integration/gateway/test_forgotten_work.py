"""Late reports of work that the writer has forgotten, on real servers: the read model tells how it ended."""

from __future__ import annotations

from datetime import timedelta

import pytest
from postgrest.exceptions import APIError

from drover.domain.fleet import evolve_past
from drover.domain.fleet.commands import CreateJob, MarkOnline, ReportCompleted, ReportRunning
from drover.testing.waiting import eventually
from tests.integration.gateway.test_agent_over_http import client

JOBS = [f"00000000-0000-7000-8000-00000000000{number}" for number in range(1, 4)]
DONE = {"status": "completed", "progress_pct": 100, "actual_duration_sec": 60}


@pytest.fixture
def no_window(monkeypatch):
    """What takes 1,000 jobs and 20 minutes otherwise: only the job that ended last is remembered."""
    monkeypatch.setattr(evolve_past, "PAST_JOBS_MAX", 1)
    monkeypatch.setattr(evolve_past, "SOONER", timedelta(days=2))


async def refusal(query) -> tuple[str, str]:
    with pytest.raises(APIError) as refused:
        await query.execute()
    return refused.value.code, refused.value.message


@pytest.mark.req("YR-10")
async def test_what_was_forgotten_is_answered_from_the_read_model(no_window, farm):
    async with client(farm.url, farm.service_key) as office:
        row = {"serial_number": "SERIAL0001", "group_id": "P1-G1", "pc_id": "PC-01"}
        (device,) = (await office.table("devices").insert(row).execute()).data
        await farm.bus.send("fleet", MarkOnline(device["id"]), by="test")
        fleet, ended = farm.roster.fleet, []
        for job_id in JOBS:
            await farm.bus.send("fleet", CreateJob(job_id=job_id, target_url="https://youtu.be/abc"), by="test")
            await eventually(lambda: fleet.devices[device["id"]].assignment is not None)
            ended.append(fleet.devices[device["id"]].assignment)
            await farm.bus.send("fleet", ReportRunning(ended[-1], 1), by="test")
            done = ReportCompleted(ended[-1], 1, progress_pct=100, actual_duration_sec=60)
            await farm.bus.send("fleet", done, by="test")
            await eventually(lambda: fleet.devices[device["id"]].assignment is None)
        await eventually(lambda: list(farm.roster.fleet.jobs) == JOBS[-1:])
        await farm.read("fleet")
        assignments, jobs = office.table("job_assignments"), office.table("jobs")
        for id_ in ended:
            assert await refusal(assignments.update(DONE).eq("id", id_)) == ("CONFLICT", "Assignment already completed")
        for job_id in JOBS:
            refused = await refusal(jobs.update({"status": "paused"}).eq("id", job_id))
            assert refused == ("CONFLICT", "Job already completed")
            (reason, *_) = (await office.rpc("why", {"job_id": job_id}).execute()).data["reasons"]
            assert reason["data"]["code"] == "job_completed"
