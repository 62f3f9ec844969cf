"""An agent that knows nothing but Supabase, with a real client (`postgrest`) on real servers."""

from __future__ import annotations

import pytest
from postgrest import AsyncPostgrestClient
from postgrest.exceptions import APIError

from drover.bus.messages import Accepted
from drover.domain.fleet.commands import CreateJob, MarkOnline

JOB = "00000000-0000-7000-8000-00000000000a"
PHONES = 3


def client(url: str, key: str) -> AsyncPostgrestClient:
    return AsyncPostgrestClient(url, headers={"apikey": key, "Authorization": f"Bearer {key}"})


async def poll(phone: AsyncPostgrestClient, device_id: str):
    query = phone.table("job_assignments").select("*,jobs(*)").eq("device_id", device_id).eq("status", "pending")
    return (await query.order("assigned_at").limit(1).execute()).data


@pytest.mark.req("DF-09", "DF-10", "DF-29")
async def test_an_agent_polls_works_and_reports(farm):
    async with client(farm.url, farm.service_key) as office, client(farm.url, farm.anon_key) as phone:
        rows = [{"serial_number": f"SERIAL{n:04}", "group_id": "P1-G1", "pc_id": "PC-01"} for n in range(PHONES)]
        devices = (await office.table("devices").insert(rows).execute()).data
        device_id = devices[0]["id"]
        assert await poll(phone, device_id) == []

        for device in devices:
            assert isinstance(await farm.bus.send("fleet", MarkOnline(device["id"]), by="test"), Accepted)
        created = await farm.bus.send("fleet", CreateJob(job_id=JOB, target_url="https://youtu.be/abc"), by="test")
        assert isinstance(created, Accepted), created
        # A read that names the position waits for it: so this one polls what was offered just now.
        phone.session.headers["Drover-Min-Position"] = f"fleet={created.position}"
        (work,) = await poll(phone, device_id)
        del phone.session.headers["Drover-Min-Position"]
        assert work["jobs"]["target_url"] == "https://youtu.be/abc"
        assert await poll(phone, device_id) == [work], "until it is begun it is given again"

        mine = phone.table("job_assignments")
        (row,) = (await mine.update({"status": "running", "progress_pct": 0}).eq("id", work["id"]).execute()).data
        assert (row["status"], row["run"]) == ("running", work["run"])
        (row,) = (await mine.update({"status": "running", "progress_pct": 45}).eq("id", work["id"]).execute()).data
        assert row["progress_pct"] == 45
        done = {"status": "completed", "progress_pct": 100, "actual_duration_sec": 156, "did_like": True}
        (row,) = (await mine.update(done).eq("id", work["id"]).execute()).data
        assert (row["status"], row["did_like"], row["actual_duration_sec"]) == ("completed", True, 156)

        with pytest.raises(APIError) as refused:
            await mine.update(done).eq("id", work["id"]).execute()
        assert (refused.value.code, refused.value.message) == ("CONFLICT", "Assignment already completed")
        with pytest.raises(APIError) as refused:
            await mine.update(done).eq("id", JOB).execute()
        assert (refused.value.code, refused.value.message) == ("NOT_FOUND", "Assignment not found")

        office.session.headers["Drover-Min-Position"] = f"fleet={farm.roster.seq}"
        read = await office.table("job_assignments").select("*,jobs(title)").eq("id", work["id"]).single().execute()
        for name in ("status", "progress_pct", "did_like", "actual_duration_sec", "run", "attempt", "retry_count"):
            assert read.data[name] == row[name]
        events = await (
            office.table("tasks_event").select("event_type").eq("task_device_id", work["id"]).order("id").execute()
        )
        assert [event["event_type"] for event in events.data] == ["CREATED", "SENT", "ACKED", "SUCCEEDED"]


async def test_the_row_of_a_poll_is_the_row_of_the_read_model(farm):
    async with client(farm.url, farm.service_key) as office, client(farm.url, farm.anon_key) as phone:
        row = {"serial_number": "SERIAL0001", "group_id": "P1-G1", "pc_id": "PC-01"}
        (device,) = (await office.table("devices").insert(row).execute()).data
        await farm.bus.send("fleet", MarkOnline(device["id"]), by="test")
        created = await farm.bus.send("fleet", CreateJob(job_id=JOB, target_url="https://youtu.be/abc"), by="test")
        phone.session.headers["Drover-Min-Position"] = f"fleet={created.position}"
        (polled,) = await poll(phone, device["id"])
        office.session.headers["Drover-Min-Position"] = f"fleet={farm.roster.seq}"
        (read,) = await poll(office, device["id"])
        uncounted = {name for name, value in polled["jobs"].items() if value is None}
        for name in uncounted:
            read["jobs"][name] = None
        assert _same_times(polled) == _same_times(read)


def _same_times(row: dict) -> dict:
    """PostgreSQL writes UTC as +00:00, and leaves out zeros at the end of a fraction."""
    return {
        name: _same_times(value)
        if isinstance(value, dict)
        else value.replace("+00:00", "Z").rstrip("Z").rstrip("0").rstrip(".")
        if name.endswith("_at") and value
        else value
        for name, value in row.items()
    }
