"""001: the hourly cron job, which calls the cleanup over HTTP, and the monitoring that looks at health and log."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
from steps import expect, step, until
from supabase import create_client

SECRET = os.environ["CRON_SECRET"]
USER = "user_cron1"
STALLED = "시스템 타임아웃으로 자동 정리됨"

supabase = create_client(os.environ["SUPABASE_URL"], os.environ["SUPABASE_SERVICE_ROLE_KEY"])
http = httpx.Client(base_url=os.environ["SUPABASE_URL"], timeout=30)


def cleanup(**headers: str) -> httpx.Response:
    """As `net.http_post` calls it: a JSON content type, and `{}` where no body is named."""
    return http.post("/api/system/cleanup-tests", headers={"Content-Type": "application/json", **headers}, json={})


def begun(minutes: int) -> dict[str, str]:
    return {
        "user_id": USER,
        "status": "processing",
        "created_at": (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat(),
    }


def remaining() -> int:
    return supabase.table("users").select("remaining_tests").eq("id", USER).single().execute().data["remaining_tests"]


def logged(pattern: str) -> bool:
    return bool(re.search(pattern, Path(os.environ["LOG_FILE"]).read_text(), re.MULTILINE))


with step("1.4", "a wrong secret is UNAUTHORIZED"):
    refused = cleanup(**{"X-Cron-Secret": "wrong"})
    expect((refused.status_code, refused.json()["error"]), (401, "UNAUTHORIZED"))
    expect(refused.json()["message"], "Invalid cron secret")

with step("1.4", "no secret is UNAUTHORIZED"):
    expect(cleanup().status_code, 401)

with step("1.3", "nothing to clean is a success"):
    cleanup(**{"X-Cron-Secret": SECRET})  # what other programs left
    nothing = cleanup(**{"X-Cron-Secret": SECRET})
    expect(nothing.status_code, 200)
    expect(nothing.json(), {"message": "Cleanup completed", "cleaned_count": 0, "users_affected": []})

with step("1.3", "nothing to clean is logged"):
    until(lambda: logged("No tests to cleanup"))

with step("1.7", "a call without a body is a success, too"):
    expect(http.post("/api/system/cleanup-tests", headers={"X-Cron-Secret": SECRET}).status_code, 200)

with step("6.1", "given three tests of 35 minutes and two of 15"):
    supabase.table("users").insert({"id": USER, "remaining_tests": 2}).execute()
    stalled = supabase.table("saju_tests").insert([begun(35) for _ in range(3)]).execute().data
    young = supabase.table("saju_tests").insert([begun(15) for _ in range(2)]).execute().data

with step("6.1", "the three are cleaned"):
    ids = [test["id"] for test in stalled]
    before = remaining()
    answer = cleanup(**{"X-Cron-Secret": SECRET})
    expect((answer.status_code, answer.json()["message"]), (200, "Cleanup completed"))
    expect((answer.json()["cleaned_count"], answer.json()["users_affected"]), (3, [USER]))
    rows = supabase.table("saju_tests").select("status,error_message").in_("id", ids).execute().data
    expect(rows, [{"status": "failed", "error_message": STALLED}] * 3)

with step("6.1", "the user has three tests more"):
    expect(remaining(), before + 3)

with step("6.1", "the two go on"):
    ids = [test["id"] for test in young]
    rows = supabase.table("saju_tests").select("status").in_("id", ids).execute().data
    expect(rows, [{"status": "processing"}] * 2)

with step("6.1", "a second run cleans nothing"):
    expect(cleanup(**{"X-Cron-Secret": SECRET}).json()["cleaned_count"], 0)
    expect(remaining(), before + 3)

with step("4.1", "the log has the line of a cleanup"):
    line = r"^\[INFO\] \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ cleanup-tests: Cleaned 3 stalled tests for users \[user_cron1\]$"
    until(lambda: logged(line))

with step("3.2", "health without a key"):
    health = http.get("/api/system/health")
    expect((health.status_code, health.json()["status"]), (200, "healthy"))
    datetime.fromisoformat(health.json()["timestamp"])
    assert health.json()["version"]

with step("3.2", "health of the services"):
    services = health.json()["services"]
    found = {name: services[name] for name in ("database", "clerk", "gemini")}
    expect(found, {"database": "connected", "clerk": "reachable", "gemini": "reachable"})
