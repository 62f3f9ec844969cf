"""The real `supabase-py` walks through the whole life of a job."""

from __future__ import annotations

import pytest
from postgrest.exceptions import APIError
from supabase import acreate_client

from drover.testing.waiting import eventually
from tests.e2e.life_of_a_job import HISTORY

SERIAL = "SUPABASEPY01"
POLL_EVERY_S = 0.3
"""Within what one device may ask."""


class Phone:
    """An agent as its author would have written it for Supabase."""

    def __init__(self, client) -> None:
        self._client = client
        self.device_id = ""

    async def heartbeat(self):
        beat = {"last_seen_at": "2026-01-29T10:30:00Z", "status": "online"}
        return await self._client.table("devices").update(beat).eq("serial_number", SERIAL).execute()

    async def poll(self):
        query = self._client.table("job_assignments").select("*,jobs(*)").eq("device_id", self.device_id)
        return (await query.eq("status", "pending").order("assigned_at").limit(1).execute()).data

    async def next_work(self):
        async def found():
            await self.heartbeat()
            return await self.poll()

        return (await eventually(found, every_s=POLL_EVERY_S))[0]

    async def report(self, assignment_id, **fields):
        return await self._client.table("job_assignments").update(fields).eq("id", assignment_id).execute()

    async def row(self, assignment_id, select="*"):
        return (
            await self._client.table("job_assignments").select(select).eq("id", assignment_id).single().execute()
        ).data


async def refused(call) -> APIError:
    with pytest.raises(APIError) as error:
        await call
    return error.value


@pytest.mark.req("DF-07", "DF-08", "DF-09", "DF-10", "DF-14", "DF-20", "DF-29", "OQ-09", "OQ-11", "EV-04")
async def test_supabase_py_walks_through_the_whole_life_of_a_job(start):
    platform = await start()
    keys = platform.credentials
    office = await acreate_client(platform.url, keys["service_key"])
    phone = Phone(await acreate_client(platform.url, keys["anon_key"]))

    device = {"serial_number": SERIAL, "group_id": "P1-G1", "pc_id": "PC-PY"}
    phone.device_id = (await office.table("devices").insert(device).execute()).data[0]["id"]
    await phone.heartbeat()
    assert await phone.poll() == []

    wanted = {"title": "py", "target_url": "https://youtu.be/abc", "script_type": "youtube_watch"}
    job = (await office.table("jobs").insert(wanted | {"target": {"device_ids": []}}).execute()).data[0]
    assert (job["duration_max_pct"], job["is_active"]) == (90, True)
    named = {"job_id": job["id"], "device_id": phone.device_id}
    assignment = (await office.table("job_assignments").insert(named).execute()).data[0]
    assert (await office.table("job_assignments").insert(named).execute()).data[0]["id"] == assignment["id"]

    work = await phone.next_work()
    assert (work["id"], work["jobs"]["target_url"], work["attempt"]) == (assignment["id"], "https://youtu.be/abc", 1)

    begun = await phone.report(work["id"], status="running", progress_pct=0, started_at="2026-01-29T10:30:00Z")
    assert begun.data[0]["status"] == "running"
    await phone.report(work["id"], status="running", progress_pct=45)

    async def is_at_45():
        return (await phone.row(work["id"]))["progress_pct"] == 45

    await eventually(is_at_45)

    failed = await phone.report(
        work["id"], status="failed", error_code="APP_CRASH", error_message="gone", retry_count=1
    )
    assert (failed.data[0]["status"], failed.data[0]["retry_count"]) == ("pending", 1)
    assert await phone.poll() == []
    again = await phone.next_work()
    assert (again["id"], again["attempt"], again["retry_count"]) == (work["id"], 2, 1)

    done = {"status": "completed", "progress_pct": 100, "actual_duration_sec": 156, "did_like": True}
    stale = await refused(phone.report(work["id"], run=work["run"], **done))
    assert stale.code == "STALE_ATTEMPT"
    await phone.report(again["id"], status="running", run=again["run"])
    completed = await phone.report(again["id"], run=again["run"], completed_at="2026-01-29T10:35:36Z", **done)
    assert completed.data[0]["status"] == "completed"
    assert (await phone.row(work["id"], "status,did_like,jobs(title)")) == {
        "status": "completed",
        "did_like": True,
        "jobs": {"title": "py"},
    }

    repeat = await refused(phone.report(again["id"], run=again["run"], **done))
    assert (repeat.code, repeat.message) == ("CONFLICT", "Assignment already completed")
    nobody = await refused(phone.report("00000000-0000-4000-8000-000000000000", status="running"))
    assert (nobody.code, nobody.message) == ("NOT_FOUND", "Assignment not found")
    taken = await refused(office.table("job_assignments").insert(named).execute())
    assert taken.code in ("23505", "CONFLICT")

    query = office.table("tasks_event").select("event_type,attempt").eq("task_device_id", work["id"]).order("id")
    assert [f"{row['attempt']} {row['event_type']}" for row in (await query.execute()).data] == HISTORY

    async def succeeded():
        task = await office.table("tasks").select("status").eq("id", job["id"]).single().execute()
        return task.data["status"] == "success"

    await eventually(succeeded)
