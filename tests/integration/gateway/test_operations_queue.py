"""The operations queue (002) as its runner sees it: the real supabase-py, over HTTP, on real servers."""

from __future__ import annotations

from typing import Any

import pytest
from postgrest.exceptions import APIError
from supabase import AsyncClient, acreate_client

from drover.testing.waiting import eventually

URL = "https://youtu.be/abc"
NOBODY = "00000000-0000-4000-8000-000000000000"


class Runner:
    """What a runner of the operations queue does with its client."""

    def __init__(self, db: AsyncClient) -> None:
        self.db = db

    async def phones(self, pc: str, count: int) -> list[str]:
        """Register phones of a PC; their ids."""
        rows = [
            {"serial_number": f"{pc.replace('-', '')}N{n:04}", "group_id": "P1-G1", "pc_id": pc} for n in range(count)
        ]
        return [row["id"] for row in (await self.db.table("devices").insert(rows).execute()).data]

    async def task(self, title: str, **fields: Any) -> str:
        row = {"title": title, "target_url": URL, **fields}
        return (await self.db.table("tasks").insert(row).execute()).data[0]["id"]

    async def call(self, function: str, **arguments: Any) -> Any:
        return (await self.db.rpc(function, arguments).execute()).data

    async def claim(self, pc: str, count: int) -> list[dict[str, Any]]:
        return await self.call("claim_task_devices_for_pc", runner_pc_id=pc, max_to_claim=count)

    async def write(self, task_device_id: str, **columns: Any) -> dict[str, Any]:
        (row,) = (await self.db.table("task_devices").update(columns).eq("id", task_device_id).execute()).data
        return row

    async def task_device(self, task_device_id: str) -> dict[str, Any]:
        return (await self.db.table("task_devices").select("*").eq("id", task_device_id).single().execute()).data

    async def status(self, task_id: str) -> str:
        return (await self.db.table("tasks").select("status").eq("id", task_id).single().execute()).data["status"]

    async def summary(self, *pcs: str) -> list[tuple[int, int, int]]:
        """Running count, target and eligible count of each PC."""
        query = self.db.table("pc_device_summary").select("running_count,target,eligible_device_count")
        rows = (await query.in_("pc_id", list(pcs)).order("pc_id").execute()).data
        return [(row["running_count"], row["target"], row["eligible_device_count"]) for row in rows]


@pytest.fixture
async def runner(farm) -> Runner:
    return Runner(await acreate_client(farm.url.removesuffix("/rest/v1"), farm.service_key))


@pytest.mark.req("OQ-05")
async def test_a_pc_claims_at_most_what_it_asks_for_and_never_more_than_its_free_slots(runner):
    phones = await runner.phones("PC-1", 5)
    await runner.phones("PC-2", 2)
    await runner.db.table("workers").update({"device_capacity": 3}).eq("id", "PC-1").execute()
    await runner.task("first")
    first = await runner.claim("PC-1", 2)
    assert len(first) == 2
    assert {row["device_id"] for row in first} <= set(phones), "those of its own phones"
    assert len(await runner.claim("PC-1", 20)) == 1, "three slots in all"
    assert await runner.claim("PC-1", 20) == []
    assert await runner.claim("PC-1", 0) == []
    assert len(await runner.claim("PC-2", 20)) == 2, "another PC has slots of its own"
    await runner.write(first[0]["id"], status="completed")
    (next_one,) = await runner.claim("PC-1", 20)
    assert next_one["device_id"] not in {row["device_id"] for row in first}
    with pytest.raises(APIError) as refused:
        await runner.claim("PC-9", 1)
    assert refused.value.code == "NOT_FOUND"


@pytest.mark.req("DI-02", "OQ-05")
@pytest.mark.parametrize(
    "arguments",
    [
        {"runner_pc_id": "PC-1"},
        {"runner_pc_name": "PC-1"},
        {"p_runner_pc_id": "PC-1"},
        {"p_runner_pc_name": "PC-1"},
        {"runner_pc_id": "PC-1", "max_to_claim": 1},
        {"p_runner_pc_id": "PC-1", "p_max_to_claim": 1},
        {"runner_pc_name": "PC-1", "p_max_to_claim": 1},
    ],
    ids=lambda arguments: "-".join(arguments),
)
async def test_the_functions_take_their_arguments_by_any_of_the_users_names(runner, arguments):
    await runner.phones("PC-1", 3)
    await runner.task("first")
    prefix = "p_" if any(name.startswith("p_") for name in arguments) else ""
    (row,) = await runner.call("claim_task_devices_for_pc", **arguments)
    assert (row["pc_id"], row["status"], row["attempt"], row["max_attempts"]) == ("PC-1", "running", 1, 3)
    told = {f"{prefix}task_device_id": row["id"], f"{prefix}error": "no picture"}
    failed = await runner.call("fail_or_retry_task_device", **told)
    assert (failed["status"], failed["error"]) == ("pending", "no picture")
    (row,) = await runner.call("claim_task_devices_for_pc", **arguments)
    done = await runner.call("complete_task_device", **{f"{prefix}task_device_id": row["id"]})
    assert (done["id"], done["status"]) == (row["id"], "completed")
    assert await runner.call("fn_timeout_tasks_and_task_devices") == {"timed_out": 0}


@pytest.mark.req("OQ-07")
async def test_a_failure_is_tried_again_until_the_third_which_is_final_and_takes_the_phone_out(runner):
    (phone,) = await runner.phones("PC-1", 1)
    task = await runner.task("first")
    for attempt in (1, 2, 3):
        (row,) = await runner.claim("PC-1", 1)
        assert (row["attempt"], row["max_attempts"]) == (attempt, 3)
        told = await runner.call("fail_or_retry_task_device", task_device_id=row["id"], error=f"failure {attempt}")
        final = attempt == 3
        read = await runner.task_device(row["id"])
        assert told["status"] == read["status"] == ("failed" if final else "pending")
        assert (read["error"], read["completed_at"] is not None) == (f"failure {attempt}", final)
    assert read["attempt"] >= read["max_attempts"], "which is FAILED_FINAL"
    device = (await runner.db.table("devices").select("status").eq("id", phone).single().execute()).data
    assert device["status"] == "error"
    assert await runner.status(task) == "failed"
    assert await runner.claim("PC-1", 1) == []
    for unknown in (NOBODY, row["id"]):
        with pytest.raises(APIError) as refused:
            await runner.call("fail_or_retry_task_device", task_device_id=unknown)
        assert refused.value.code == ("NOT_FOUND" if unknown == NOBODY else "CONFLICT")


@pytest.mark.req("OQ-10")
async def test_running_target_and_eligible_count_of_each_pc_follow_what_its_runner_does(runner):
    await runner.phones("PC-1", 3)
    await runner.phones("PC-2", 2)
    assert await runner.summary("PC-1", "PC-2") == [(0, 0, 0), (0, 0, 0)], "nobody was heard"
    await runner.claim("PC-1", 0)
    assert await runner.summary("PC-1", "PC-2") == [(0, 3, 3), (0, 0, 0)]
    await runner.db.table("workers").update({"max_devices": 2}).eq("id", "PC-1").execute()
    await runner.task("first")
    assert await runner.summary("PC-1") == [(2, 2, 3)], "what is supplied holds its slot"
    first, second = await runner.claim("PC-1", 20)
    assert await runner.summary("PC-1") == [(2, 2, 3)]
    await runner.write(first["id"], status="completed")
    assert await runner.summary("PC-1") == [(2, 2, 3)], "its slot was filled at once"
    for _ in range(3):
        await runner.call("fail_or_retry_task_device", task_device_id=second["id"], error="broken")
        await runner.claim("PC-1", 20)
    (running, target, eligible) = (await runner.summary("PC-1"))[0]
    assert (running, target, eligible) == (1, 2, 2), "a phone in error is not eligible"


@pytest.mark.req("OQ-11")
async def test_the_status_of_a_task_is_one_of_the_six(runner, farm):
    (phone,) = await runner.phones("PC-1", 1)
    tasks = [await runner.task(title) for title in ("first", "second", "third", "fourth")]
    await runner.claim("PC-1", 0)
    assert [await runner.status(task) for task in tasks] == ["running", "pending", "pending", "pending"]
    await runner.db.table("tasks").update({"status": "cancelled"}).eq("id", tasks[3]).execute()

    (row,) = await runner.claim("PC-1", 1)
    report = runner.db.table("job_assignments").update({"status": "failed", "error_code": "VIDEO_NETWORK_ERROR"})
    await report.eq("id", row["id"]).execute()
    assert await runner.status(tasks[0]) == "retrying", "nothing but a retry, 10 s from now, is left of it"
    await runner.write(row["id"], status="running")
    assert await runner.status(tasks[0]) == "running"
    await runner.write(row["id"], status="completed")

    (row,) = await runner.claim("PC-1", 1)
    await runner.write(row["id"], status="failed", attempt=3, error="broken")
    reset = {"status": "offline"}
    await runner.db.table("devices").update(reset).eq("id", phone).execute()
    assert [await runner.status(task) for task in tasks] == ["success", "failed", "pending", "cancelled"]
    await runner.claim("PC-1", 0)
    assert await runner.status(tasks[2]) == "running"

    for word in ("success", "completed"):
        found = (await runner.db.table("tasks").select("id,status").eq("status", word).execute()).data
        assert found == [{"id": tasks[0], "status": "success"}]
    active = (await runner.db.table("tasks").select("id").in_("status", ["running", "completed"]).execute()).data
    assert {row["id"] for row in active} == {tasks[0], tasks[2]}


@pytest.mark.req("DI-01", "OQ-04")
async def test_a_runner_works_by_the_tables_alone(runner):
    phones = await runner.phones("PC-1", 2)
    (worker,) = (await runner.db.table("workers").upsert({"id": "PC-1", "max_devices": 1}).execute()).data
    assert (worker["device_capacity"], worker["max_devices"]) == (1, 1)
    task = await runner.task("named", target={"device_ids": []})
    new = {"task_id": task, "device_id": phones[1], "pc_id": "PC-1", "status": "pending"}
    (row,) = (await runner.db.table("task_devices").insert(new).execute()).data
    assert (row["task_id"], row["device_id"], row["status"]) == (task, phones[1], "pending")
    await runner.db.table("workers").update({"last_heartbeat": "2026-01-29T10:30:00Z"}).eq("id", "PC-1").execute()
    (mine,) = await eventually(lambda: runner.claim("PC-1", 1))
    assert mine["id"] == row["id"]
    begun = await runner.write(mine["id"], status="running", started_at="2026-01-29T10:30:00Z")
    assert begun["status"] == "running"
    ended = await runner.write(mine["id"], status="completed", completed_at="2026-01-29T10:31:30Z")
    assert ended["status"] == "completed"
    job = runner.db.table("job_assignments").select("actual_duration_sec").eq("id", mine["id"]).single()
    assert (await job.execute()).data == {"actual_duration_sec": 90}
    assert await runner.status(task) == "success"
