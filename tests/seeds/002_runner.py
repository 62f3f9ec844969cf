"""002: the runner of a PC. It claims one for each free slot of its phones, and reports on `task_devices`."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any

from steps import expect, step, until
from supabase import create_client

PC = "PC-RUNNER"
PHONES = 12
AT_WORK = ["running", "claimed"]
OPEN = ["pending", "running", "retrying"]
db = create_client(os.environ["SUPABASE_URL"], os.environ["SUPABASE_SERVICE_ROLE_KEY"])
held: set[str] = set()
"""What this runner has claimed and not ended."""


def now() -> str:
    return datetime.now(UTC).isoformat()


def claim(**arguments: Any) -> list[dict[str, Any]]:
    rows = db.rpc("claim_task_devices_for_pc", arguments).execute().data
    held.update(row["id"] for row in rows)
    return rows


def claimed(**arguments: Any) -> dict[str, Any]:
    """One more, as soon as there is one."""
    (row,) = until(lambda: claim(**arguments or {"runner_pc_id": PC, "max_to_claim": 1}))
    return row


def has_claimed(of: dict[str, Any]) -> bool:
    """Whether it is at work, after one more claim of whatever there is."""
    claim(runner_pc_id=PC, max_to_claim=20)
    return task_device(of)["status"] in AT_WORK


def task_device(of: dict[str, Any]) -> dict[str, Any]:
    return db.table("task_devices").select("*").eq("id", of["id"]).single().execute().data


def write(of: dict[str, Any], **columns: Any) -> dict[str, Any]:
    (row,) = db.table("task_devices").update(columns).eq("id", of["id"]).execute().data
    return row


def fail(of: dict[str, Any], error: str) -> dict[str, Any]:
    db.rpc("fail_or_retry_task_device", {"task_device_id": of["id"], "error": error}).execute()
    return task_device(of)


def new_task(title: str) -> dict[str, Any]:
    row = {"title": title, "target_url": "https://youtu.be/abc", "status": "pending"}
    return db.table("tasks").insert(row).execute().data[0]


# The phones of the PC are entered in Studio.
serials = [f"RUNNER{number:04d}" for number in range(PHONES)]
phones = [{"serial_number": serial, "group_id": "P1-G1", "pc_id": PC} for serial in serials]
phones = db.table("devices").insert(phones).execute().data

with step("3", "says how many phones it can run"):
    (row,) = db.table("workers").update({"device_capacity": 10}).eq("id", PC).execute().data
    expect((row["device_capacity"], row["max_devices"]), (10, 10))

with step("3", "says it with max_devices"):
    (row,) = db.table("workers").update({"max_devices": 20}).eq("id", PC).execute().data
    expect((row["device_capacity"], row["max_devices"]), (20, 20))

with step("3", "its claim is a sign of life of its phones"):
    claim(runner_pc_id=PC, max_to_claim=1)
    summary = db.table("pc_device_summary").select("eligible_device_count,target").eq("pc_id", PC)
    until(lambda: summary.execute().data == [{"eligible_device_count": PHONES, "target": PHONES}])

for serial in serials:  # agents on the phones may say it, too
    db.table("devices").update({"status": "online", "last_seen_at": now()}).eq("serial_number", serial).execute()

with step("2", "inserts two tasks"):
    first, second = new_task("first"), new_task("second")
    expect((first["title"], second["title"]), ("first", "second"))
if "first" not in globals():  # somebody else's dashboard has inserted one
    db.table("jobs").insert({"title": "first", "target_url": "https://youtu.be/abc"}).execute()

with step("2", "only the oldest task is running"):
    active = until(lambda: db.table("tasks").select("title,status").eq("status", "running").execute().data)
    expect([task["title"] for task in active], ["first"])

with step("3", "reads running_count and target of the PC"):
    rows = db.table("pc_device_summary").select("running_count,target").eq("pc_id", PC).execute().data
    assert 0 <= rows[0]["running_count"] <= rows[0]["target"] <= 20, rows

with step("4", "claims one"):
    mine = claimed()
    expect((mine["pc_id"], mine["attempt"], mine["max_attempts"]), (PC, 1, 3))

with step("3", "counts what is at work on the PC"):
    query = db.table("task_devices").select("id", count="exact").eq("pc_id", PC).in_("status", AT_WORK)
    expect(query.execute().count, len(held))

with step("3", "what it has claimed is running"):
    expect(task_device(mine)["status"], "running")

with step("5", "it has 20 minutes for it"):
    left = datetime.fromisoformat(task_device(mine)["timeout_at"]) - datetime.now(UTC)
    assert timedelta(minutes=19) < left <= timedelta(minutes=20), left

with step("5", "a failure is tried again"):
    once = claimed()
    row = fail(once, "phone is warm")
    expect((row["status"], row["error"]), ("pending", "phone is warm"))

with step("6", "reads the history of attempts"):
    logs = db.table("execution_logs").select("event_type,level").eq("task_device_id", once["id"]).execute().data
    assert {"CREATED", "SENT", "FAILED"} <= {log["event_type"] for log in logs}, logs

with step("5", "runs the time-outs"):
    db.rpc("fn_timeout_tasks_and_task_devices", {}).execute()

with step("7", "looks for time-outs in the error texts"):
    expect(db.table("task_devices").select("id").ilike("error", "%timeout%").execute().data, [])

with step("4", "claims one without max_to_claim"):
    expect(claimed(runner_pc_id=PC)["pc_id"], PC)

with step("4", "claims one by the name of the PC"):
    expect(claimed(runner_pc_name=PC, max_to_claim=1)["pc_id"], PC)

with step("4", "claims one with the prefix p_"):
    expect(claimed(p_runner_pc_id=PC, p_max_to_claim=1)["pc_id"], PC)

with step("5", "a failure with the prefix p_ is tried again"):
    other = claimed()
    db.rpc("fail_or_retry_task_device", {"p_task_device_id": other["id"], "p_error": "no picture"}).execute()
    expect((task_device(other)["status"], task_device(other)["error"]), ("pending", "no picture"))

with step("5", "reports that it runs"):
    expect(write(mine, status="running", started_at=now())["status"], "running")

with step("5", "reports success"):
    row = write(mine, status="completed", completed_at=now())
    expect(row["status"], "completed")
    assert row["completed_at"]

with step("5", "reports success by a function"):
    other = claimed()
    db.rpc("complete_task_device", {"task_device_id": other["id"]}).execute()
    expect(task_device(other)["status"], "completed")

with step("5", "reports a failure by the table"):
    row = write(claimed(), status="failed", error="screen went dark")
    expect((row["status"], row["error"]), ("pending", "screen went dark"))

with step("5", "gives one back by the table"):
    expect(write(claimed(), status="pending")["status"], "pending")

with step("5", "cancels one by the table"):
    expect(write(claimed(), status="cancelled")["status"], "cancelled")

with step("5", "the third failure is final"):
    failing = claimed()
    for attempt in (1, 2, 3):
        until(lambda: has_claimed(failing))
        row = fail(failing, f"failure {attempt}")
    expect((row["status"], row["attempt"], row["max_attempts"], row["error"]), ("failed", 3, 3, "failure 3"))

with step("7", "finds FAILED_FINAL"):
    rows = db.table("task_devices").select("id,attempt,max_attempts").eq("status", "failed").execute().data
    expect([row["id"] for row in rows if row["attempt"] >= row["max_attempts"]], [failing["id"]])

with step("5", "its phone is in error"):
    phone = db.table("devices").select("status").eq("id", failing["device_id"]).single().execute().data
    expect(phone["status"], "error")

with step("4", "inserts one row for a free slot"):
    third = new_task("third")
    row = {"task_id": third["id"], "device_id": phones[0]["id"], "pc_id": PC, "status": "pending"}
    (row,) = db.table("task_devices").insert(row).execute().data
    expect((row["task_id"], row["device_id"], row["status"]), (third["id"], phones[0]["id"], "pending"))

with step("2", "cancels a task"):
    (row,) = db.table("tasks").update({"status": "cancelled"}).eq("id", third["id"]).execute().data
    expect(row["status"], "cancelled")

with step("2", "works until every task has ended"):

    def work() -> bool:
        claim(runner_pc_id=PC, max_to_claim=20)
        for row in db.table("task_devices").select("id").in_("status", AT_WORK).execute().data:
            write(row, status="completed", completed_at=now())
        return not db.table("tasks").select("id").in_("status", OPEN).execute().data

    until(work, every_s=1)
    ended = db.table("tasks").select("title,status").in_("id", [first["id"], second["id"]]).order("title").execute()
    expect(ended.data, [{"title": "first", "status": "success"}, {"title": "second", "status": "success"}])
