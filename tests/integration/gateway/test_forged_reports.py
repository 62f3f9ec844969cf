"""Somebody who has the key that is in every phone tries to end the job of a whole farm."""

from __future__ import annotations

import time
from collections import Counter
from uuid import UUID

import aiohttp
import pytest

from drover.bus.messages import Accepted
from drover.domain.fleet import reports
from drover.domain.fleet.commands import ClaimForPc, CreateJob, MarkOnline
from drover.domain.fleet.failure import Failure
from drover.domain.fleet.state import JobStatus
from drover.service.api_keys import Role, issue_api_key
from drover.testing.waiting import eventually
from tests.integration.gateway.conftest import SECRET, Farm

JOB = "00000000-0000-7000-8000-00000000000a"
PCS, PHONES_EACH = 10, 20
PHONES = PCS * PHONES_EACH
GONE = {"status": "failed", "error_code": "VIDEO_UNAVAILABLE"}
CAUGHT_UP_S = 20.0

AGENT = pytest.mark.parametrize("farm", [{"DROVER_ANON": "agent"}], indirect=True, ids=["agent"])


async def run_everywhere(farm: Farm) -> list[tuple[str, str]]:
    """200 phones that all run one job: (device, assignment) of each."""
    async with session(farm.service_key) as office:
        for pc in range(PCS):
            rows = [
                {"serial_number": f"SERIAL{pc:02}{n:02}", "group_id": "P1-G1", "pc_id": f"PC-{pc:02}"}
                for n in range(PHONES_EACH)
            ]
            async with office.post(f"{farm.url}/devices", json=rows) as answer:
                assert answer.status == 201, await answer.text()
    await eventually(lambda: len(farm.roster.fleet.devices) == PHONES, CAUGHT_UP_S)
    for device_id in farm.roster.fleet.devices:
        assert isinstance(await farm.bus.send("fleet", MarkOnline(device_id), by="test"), Accepted)
    job = CreateJob(job_id=JOB, target_url="https://youtu.be/abc")
    assert isinstance(await farm.bus.send("fleet", job, by="test"), Accepted)
    for pc in range(PCS):
        claimed = await farm.bus.send("fleet", ClaimForPc(f"PC-{pc:02}", PHONES_EACH), by="test")
        assert isinstance(claimed, Accepted), claimed
    await eventually(lambda: farm.roster.fleet.jobs[JOB].in_flight == PHONES, CAUGHT_UP_S)
    return [(one.device_id, one.assignment_id) for one in farm.roster.fleet.assignments.values()]


def session(key: str) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(headers={"apikey": key, "Authorization": f"Bearer {key}"})


def device_key(device_id: str) -> str:
    return issue_api_key(SECRET, Role.DEVICE, now_s=time.time(), device_id=UUID(device_id))


async def report(farm: Farm, key: str, filters: str, body: dict[str, object]) -> None:
    async with session(key) as caller, caller.patch(f"{farm.url}/job_assignments?{filters}", json=body) as answer:
        assert answer.status == 204, await answer.text()


async def ended(farm: Farm, count: int) -> None:
    await eventually(lambda: len(farm.roster.fleet.ended) == count, CAUGHT_UP_S)


async def shown(farm: Farm) -> tuple[str, Counter[str]]:
    """The job and its assignments as the read model shows them."""
    await farm.read("fleet")
    async with session(farm.service_key) as office:
        async with office.get(f"{farm.url}/jobs?id=eq.{JOB}") as answer:
            (job,) = await answer.json()
        async with office.get(f"{farm.url}/job_assignments?select=status&job_id=eq.{JOB}") as answer:
            rows = await answer.json()
    return job["status"], Counter(row["status"] for row in rows)


@pytest.mark.req("SE-04", "DF-15")
@AGENT
async def test_forged_reports_end_a_job_on_their_own_phones_and_two_real_ones_end_it_on_all_200(farm):
    (a, b, c, d, e) = (await run_everywhere(farm))[:5]
    for filters in (
        f"id=eq.{a[1]}",
        f"device_id=eq.{b[0]}&status=eq.running",  # the gateway reads the run: the caller need not know it
        f"id=eq.{c[1]}&run=gte.0",
    ):
        await report(farm, farm.anon_key, filters, GONE)
    await ended(farm, 3)
    assert await shown(farm) == ("active", Counter(running=PHONES - 3, failed=3))

    await report(farm, device_key(d[0]), f"id=eq.{d[1]}", GONE)
    await ended(farm, 4)
    assert farm.roster.fleet.jobs[JOB].status is JobStatus.ACTIVE, "a stolen key is one phone's word"
    await report(farm, farm.anon_key, f"id=eq.{e[1]}", GONE | {"run": 1})
    await ended(farm, 5)
    assert (await shown(farm))[0] == "deactivated"


@pytest.mark.control
@pytest.mark.req("SE-04")
@AGENT
async def test_without_the_protection_one_forged_report_ends_it_on_all_200(farm, monkeypatch):
    def trusting(command, assignment):
        return Failure(command.error_code, command.error_message, is_proven=True, is_enough=True)

    monkeypatch.setattr(reports, "_failure", trusting)
    ((_, first), *_) = await run_everywhere(farm)
    await report(farm, farm.anon_key, f"id=eq.{first}", GONE)
    await eventually(lambda: farm.roster.fleet.jobs[JOB].status is JobStatus.DEACTIVATED, CAUGHT_UP_S)
    assert (await shown(farm))[0] == "deactivated"
