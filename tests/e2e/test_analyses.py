"""Analyses on a platform as `drover up` starts it: people, workers, the cron secret of `credentials.json`, the logs."""

from __future__ import annotations

import pytest

from drover.testing.waiting import eventually
from tests.e2e.test_people import admin_of, browsing

TESTS = "/api/saju/tests"
CLEAN = "/api/system/cleanup-tests"
MISTYPED = "a-mistyped-cron-secret-0815"


@pytest.mark.req("SY-01", "SY-15")
async def test_somebody_who_is_signed_in_starts_a_test_of_their_own_and_a_worker_ends_it(platform, http):
    async with browsing(platform) as person:
        status, body = await person.sign_in(*admin_of(platform))
        assert status == 200, body
        who = body["user"]["id"]
        status, body = await person.call("POST", TESTS)
        assert (status, body["error"]) == (404, "NOT_FOUND"), "nobody has registered them yet"
        status, _ = await person.call("POST", "/api/saju/users", json={"user_id": who, "remaining_tests": 1})
        assert status == 201, "an admin may"
        status, test = await person.call("POST", TESTS)
        assert (status, test["user_id"], test["remaining_tests"]) == (201, who, 0)
        status, body = await person.call("POST", TESTS)
        assert (status, body["error"]) == (402, "NO_TESTS_LEFT")
        status, _ = await person.call("POST", f"{TESTS}/{test['id']}/complete")
        assert status == 403, "people are no workers"
        done = await http.call("POST", f"{TESTS}/{test['id']}/complete", json={"result_ref": "r/1"})
        assert done.status == 200
        at_least = {"Drover-Min-Position": done.headers["Drover-Position"]}
        seen = await http.get(f"{TESTS}?user_id={who}", headers=at_least)
        assert (seen.status, [row["status"] for row in seen.json["tests"]]) == (200, ["completed"])
        status, body = await person.call("GET", TESTS)
        assert (status, body["tests"], body["remaining_tests"]) == (200, seen.json["tests"], 0)
        assert person.token not in platform.output


@pytest.mark.req("SY-04", "SY-15", "SY-18", "SY-23")
async def test_the_secret_of_the_credentials_opens_and_no_secret_is_in_the_log(platform, http):
    secret = platform.credentials["cron_secret"]
    headers = {"X-Cron-Secret": secret, "Content-Type": "application/json"}
    cleaned = await http.call("POST", CLEAN, headers=headers)
    assert cleaned.status == 200
    assert cleaned.json == {"message": "Cleanup completed", "cleaned_count": 0, "users_affected": []}
    refused = await http.call("POST", CLEAN, headers={"X-Cron-Secret": MISTYPED})
    assert (refused.status, refused.json) == (401, {"error": "UNAUTHORIZED", "message": "Invalid cron secret"})
    assert (await http.call("POST", f"{CLEAN}?X-Cron-Secret={secret}")).status == 401
    await eventually(lambda: "cleanup-tests: Invalid cron secret" in platform.output)
    await eventually(lambda: "cleanup-tests: No tests to cleanup" in platform.output)
    assert secret not in platform.output
    assert MISTYPED not in platform.output


@pytest.mark.req("SY-08")
async def test_health_needs_no_key(platform, http):
    answer = await http.get("/api/system/health", headers={"apikey": ""})
    assert (answer.status, answer.json["status"]) == (200, "healthy")
    assert answer.json["services"]["database"] == "connected"


@pytest.mark.req("SY-07", "SY-14")
async def test_runs_and_numbers_are_to_be_seen(platform, http):
    secret = platform.credentials["cron_secret"]
    await http.call("POST", CLEAN, headers={"Authorization": f"Bearer {secret}"})

    async def seen():
        rows = await http.rows("cleanup_runs", "select=trigger,by,status&trigger=eq.manual")
        return rows and {(row["by"], row["status"]) for row in rows} == {("cron_secret", "finished")}

    await eventually(seen)
    metrics = (await http.get("/metrics")).raw.decode()
    assert 'drover_cleanup_runs_total{result="clean"}' in metrics
    assert "drover_cleanup_duration_seconds_count" in metrics
