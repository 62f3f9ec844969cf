"""Reports over HTTP: what is new becomes a command, the rest telemetry, and all of it is a sign of life."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from drover.bus.telemetry import Work
from drover.domain.fleet.commands import (
    CancelJob,
    FireOverdue,
    ReportCompleted,
    ReportFailed,
    ReportRunning,
    SendAttempt,
)
from drover.domain.fleet.state import Phase
from tests.unit.gateway.conftest import JOB

NOTHING = "00000000-0000-7000-8000-000000000000"
DONE = {"status": "completed", "progress_pct": 100, "actual_duration_sec": 156}


@pytest.mark.req("DF-10")
async def test_begin_progress_and_completion(world):
    device_id = await world.phone()
    world.job()
    (row,) = await (await world.poll(device_id)).json()
    world.bus.sent.clear()
    begin = {"status": "running", "run": 1, "progress_pct": 0, "started_at": "2024-01-29T19:30:00+09:00"}
    final = DONE | {"run": 1, "did_like": True, "completed_at": "2024-01-29T10:35:36Z"}
    for body in (begin, {"status": "running", "run": 1, "progress_pct": 45}, final):
        answer = await world.report(row["id"], body)
        assert (answer.status, await answer.read()) == (204, b"")
        assert answer.headers["Drover-Position"].startswith("fleet=")
    began = datetime(2024, 1, 29, 10, 30, tzinfo=UTC)
    assert world.bus.commands == [
        ReportRunning(row["id"], 1, names_run=True, progress_pct=0, started_at=began),
        ReportRunning(row["id"], 1, names_run=True, progress_pct=45),
        ReportCompleted(
            row["id"],
            1,
            names_run=True,
            progress_pct=100,
            actual_duration_sec=156,
            did_like=True,
            completed_at=datetime(2024, 1, 29, 10, 35, 36, tzinfo=UTC),
        ),
    ]
    assert world.bus.commands[0].started_at.utcoffset() == timedelta(0), "in UTC, whatever the phone's clock says"
    assert world.bus.sent[0]["by"] == "anon"
    assert world.bus.fleet.state.ended[row["id"]].status == "completed"


@pytest.mark.req("DF-10")
async def test_a_failure_with_all_that_an_agent_can_say(world):
    device_id = await world.phone()
    world.job()
    assignment_id = world.running(device_id).assignment_id
    said = {
        "error_code": "PLAYBACK_STALLED",
        "error_message": "m" * 5000,
        "retry_count": 1,
        "screenshot_ref": "shots/1.png",
        "activity_stack": "WatchActivity",
    }
    assert (await world.report(assignment_id, {"status": "failed", "run": 1, **said})).status == 204
    said["error_message"] = "m" * 4000
    assert world.bus.commands == [ReportFailed(assignment_id, 1, names_run=True, **said)]
    assert world.offered(device_id).phase is Phase.RETRYING


GONE = {"status": "failed", "error_code": "VIDEO_UNAVAILABLE"}


@pytest.mark.req("SE-04")
async def test_the_decider_is_told_whether_the_agent_named_its_run(world):
    device_id = await world.phone()
    world.job()
    assignment_id = world.running(device_id).assignment_id
    world.pool.rows = [{"id": assignment_id, "run": 1, "status": "running"}]
    matched = f"/rest/v1/job_assignments?id=eq.{assignment_id}&status=eq.running"
    assert (await world.client.patch(matched, json=GONE, headers=world.anon)).status == 204
    (report,) = world.bus.commands
    assert (report.run, report.names_run, report.farm_is_open) == (1, False, False), "the gateway read the run itself"


@pytest.mark.req("SE-04")
@pytest.mark.parametrize("claim", [{"names_run": True}, {"farm_is_open": True}, {"as_device": "x"}])
async def test_no_client_says_how_far_it_is_to_be_trusted(world, claim):
    device_id = await world.phone()
    world.job()
    assignment_id = world.running(device_id).assignment_id
    assert (await world.report(assignment_id, GONE | claim)).status in (400, 403)
    assert world.bus.commands == []


@pytest.mark.req("SE-04", "DI-12")
@pytest.mark.parametrize(
    ("world", "is_open"),
    [({"DROVER_ANON": "agent"}, False), ({"DROVER_ANON": "full"}, True)],
    indirect=["world"],
    ids=["agent", "full"],
)
async def test_only_where_everybody_may_end_jobs_one_report_is_enough(world, is_open):
    device_id = await world.phone()
    world.job()
    assignment_id = world.running(device_id).assignment_id
    assert (await world.report(assignment_id, GONE)).status == 204
    assert [report.farm_is_open for report in world.bus.commands] == [is_open]


@pytest.mark.req("DF-10", "DF-29")
async def test_what_is_unknown_or_over_is_said_so(world):
    world.pool.rows = []
    device_id = await world.phone()
    world.job()
    assignment_id = world.running(device_id).assignment_id
    for body, status, code, message in (
        (DONE, 204, None, None),
        (DONE, 409, "CONFLICT", "Assignment already completed"),
        ({"status": "running", "progress_pct": 50}, 409, "CONFLICT", "Assignment already completed"),
    ):
        answer = await world.report(assignment_id, body)
        assert answer.status == status
        if code:
            told = await answer.json()
            assert (told["code"], told["message"]) == (code, message)
    answer = await world.report(NOTHING, DONE)
    assert answer.status == 404
    assert await answer.json() == {
        "code": "NOT_FOUND",
        "message": "Assignment not found",
        "details": None,
        "hint": None,
    }


async def test_a_report_of_a_past_run_is_refused_and_says_where_that_is_on_record(world):
    device_id = await world.phone()
    world.job()
    assignment_id = world.running(device_id).assignment_id
    world.bus.do(ReportFailed(assignment_id, 1, error_code="VIDEO_NETWORK_ERROR"))
    world.bus.fleet.after(seconds=10)
    world.bus.do(FireOverdue())
    world.running(device_id)
    answer = await world.report(assignment_id, {"status": "running", "run": 1, "progress_pct": 0})
    told = await answer.json()
    assert (answer.status, told["code"], told["details"]) == (409, "STALE_ATTEMPT", {"run": 1, "current_run": 2})
    assert answer.headers["Drover-Position"].startswith("fleet=")
    assert world.telemetry.work == [], "what an old run says of its progress means nothing"
    assert [heard[0] for heard in world.telemetry.heard] == [device_id], "but its device is alive"


@pytest.mark.parametrize("run", [None, 1])
async def test_progress_within_a_step_is_telemetry_only(world, run):
    device_id = await world.phone()
    world.job()
    assignment_id = world.running(device_id).assignment_id
    for progress, popup in ((0, False), (4, False), (9, True), (None, False)):
        body = {"status": "running", "run": run, "progress_pct": progress, "popup_closed": popup}
        answer = await world.report(assignment_id, body)
        assert answer.status == 204
        assert "Drover-Position" not in answer.headers
    assert world.bus.sent == []
    assert world.telemetry.work == [
        (device_id, Work(assignment_id, 1, 0)),
        (device_id, Work(assignment_id, 1, 4)),
        (device_id, Work(assignment_id, 1, 9, popup_closed=True)),
        (device_id, Work(assignment_id, 1, 0)),
    ]


async def test_a_step_an_advertisement_and_a_first_report_are_events(world):
    device_id = await world.phone()
    world.job()
    assignment = world.offered(device_id)
    world.bus.do(SendAttempt(assignment.assignment_id, 1))
    said = [
        {"progress_pct": 3},
        {"progress_pct": 12},
        {"progress_pct": 12, "ad_playing": True},
        {"progress_pct": 12, "ad_playing": False},
    ]
    for body in said:
        assert (await world.report(assignment.assignment_id, {"status": "running", "run": 1, **body})).status == 204
    assert len(world.bus.sent) == 4
    assert [work.progress_pct for _, work in world.telemetry.work] == [3, 12, 12, 12]
    assert [work.ad_playing for _, work in world.telemetry.work] == [False, False, True, False]
    await world.report(assignment.assignment_id, {"status": "running", "run": 1, "progress_pct": 5})
    assert len(world.bus.sent) == 4, "progress that goes back is nothing new"


@pytest.mark.req("DF-26")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        (DONE | {"progress_pct": 99}, "progress_pct"),
        ({"status": "completed", "actual_duration_sec": 5}, "progress_pct"),
        (DONE | {"error_code": "APP_CRASH"}, "error_code"),
        (DONE | {"actual_duration_sec": 0}, "actual_duration_sec"),
        ({"status": "completed", "progress_pct": 100}, "actual_duration_sec"),
        ({"status": "failed"}, "error_code"),
        ({"status": "failed", "error_code": None}, "error_code"),
        ({"status": "failed", "error_code": "a b"}, "error_code"),
        ({"status": "failed", "error_code": "APP_CRASH", "retry_count": 4}, "retry_count"),
        ({"status": "running", "error_code": "a b"}, "error_code"),
        ({"status": "running", "progress_pct": 101}, "progress_pct"),
        ({"status": "running", "progress_pct": -1}, "progress_pct"),
        ({"status": "running", "progress_pct": 1.5}, "progress_pct"),
        ({"status": "running", "run": 2**31}, "run"),
        ({"status": "running", "run": "1"}, "run"),
        ({"status": "running", "started_at": "2024-01-29T10:30:00"}, "started_at"),
        ({"status": "running", "progress_pct": 50, "started_at": "0001-01-01T00:00:00+14:00"}, "started_at"),
        (DONE | {"completed_at": "9999-12-31T23:59:59-12:00"}, "completed_at"),
        (DONE | {"started_at": "2024-01-29T10:30:00Z", "completed_at": "2024-01-29T10:30:00Z"}, "completed_at"),
        ({"status": "stopped"}, "status"),
        ({}, "status"),
    ],
)
async def test_a_report_that_makes_no_sense_does_not_reach_the_writer(world, body, field):
    device_id = await world.phone()
    world.job()
    assignment_id = world.running(device_id).assignment_id
    answer = await world.report(assignment_id, body)
    told = await answer.json()
    assert (answer.status, told["code"], told["details"]["field"]) == (400, "VALIDATION_ERROR", field)
    assert world.bus.sent == []


async def test_a_key_that_is_bound_to_a_device_reports_for_that_one_only(world):
    mine, other = await world.phone("AAAAAAA1"), await world.phone("AAAAAAA2")
    world.job()
    world.running(mine)
    others = world.running(other).assignment_id
    for body in ({"status": "running", "progress_pct": 1}, {"status": "running", "progress_pct": 50}, DONE):
        answer = await world.report(others, body, key=world.bound(mine))
        assert (answer.status, (await answer.json())["code"]) == (404, "NOT_FOUND")
    assert {heard[0] for heard in world.telemetry.heard} == {mine}
    assert world.telemetry.work == []
    answer = await world.report(world.offered(mine).assignment_id, DONE, key=world.bound(mine))
    assert answer.status == 204
    assert world.bus.commands[-1].as_device == mine


async def test_every_report_of_a_known_assignment_is_a_sign_of_life(world):
    device_id = await world.phone()
    world.job()
    assignment_id = world.running(device_id).assignment_id
    await world.report(assignment_id, {"status": "failed"})
    await world.report(assignment_id, DONE)
    await world.report(assignment_id, DONE)
    assert [heard[0] for heard in world.telemetry.heard] == [device_id] * 3
    await world.report(NOTHING, DONE)
    assert len(world.telemetry.heard) == 3


@pytest.mark.req("DF-10")
async def test_after_a_final_report_the_next_poll_finds_the_next_work(world):
    device_id = await world.phone()
    world.job()
    assignment_id = world.running(device_id).assignment_id
    answer = await world.report(assignment_id, DONE)
    position = int(answer.headers["Drover-Position"].removeprefix("fleet="))
    assert world.roster_at.waits[-1] == ("fleet", position, 1.0)


async def test_a_representation_shows_how_it_stands(world):
    device_id = await world.phone()
    world.job()
    assignment_id = world.running(device_id).assignment_id
    shown = {"Prefer": "return=representation"}
    answer = await world.report(assignment_id, {"status": "running", "progress_pct": 40}, **shown)
    (row,) = await answer.json()
    assert (row["status"], row["progress_pct"], row["run"]) == ("running", 40, 1)
    answer = await world.report(assignment_id, DONE, **shown)
    (row,) = await answer.json()
    assert (row["status"], row["progress_pct"], row["actual_duration_sec"]) == ("completed", 100, 156)


async def test_a_report_may_have_a_key_so_that_it_counts_once(world):
    device_id = await world.phone()
    world.job()
    assignment_id = world.running(device_id).assignment_id
    key = {"Idempotency-Key": "done-1"}
    await world.report(assignment_id, DONE, **key)
    await world.report(assignment_id, DONE, **key)
    first, second = (sent["id"] for sent in world.bus.sent)
    assert first == second
    await world.report(NOTHING, DONE, **key)
    assert world.bus.sent[-1]["id"] != first, "the key counts for one assignment"


async def test_reports_go_on_while_the_database_is_away(world):
    device_id = await world.phone()
    world.job()
    assignment_id = world.running(device_id).assignment_id
    await world.report(assignment_id, DONE, Prefer="return=representation")
    assert world.pool.asked == 0


async def test_a_cancelled_job_s_offer_is_over_for_its_agent(world):
    device_id = await world.phone()
    world.job()
    (row,) = await (await world.poll(device_id)).json()
    world.bus.do(CancelJob(JOB))
    answer = await world.report(row["id"], {"status": "running", "run": 1, "progress_pct": 0})
    assert answer.status == 409


# What agents of 000 write without asking first (the rules are in the decider)


@pytest.mark.req("DI-09")
@pytest.mark.parametrize(
    ("body", "events", "status"),
    [
        ({"progress_pct": 45}, ["AttemptProgressed"], "running"),
        ({"error_code": "APP_CRASH"}, ["AttemptErrorNoted"], "running"),
        (
            {"status": "running", "progress_pct": 0, "error_code": "APP_CRASH", "retry_count": 1},
            ["AttemptFailed", "RetryScheduled", "AttemptCreated", "AttemptSent", "AttemptStarted"],
            "running",
        ),
        ({"status": "pending"}, ["AttemptRolledBack", "AttemptCreated"], "pending"),
        ({"status": "pending", "error_code": "E4001"}, ["AttemptFailed", "RetryScheduled"], "pending"),
    ],
)
async def test_what_an_agent_writes_by_itself_becomes_events_of_one_commit(world, body, events, status):
    assignment = world.running(await world.phone_with_work())
    answer = await world.report(assignment.assignment_id, body, Prefer="return=representation")
    (row,) = await answer.json()
    assert (answer.status, row["status"]) == (200, status)
    assert [type(event).__name__ for event in world.bus.fleet.decision.events] == events
    assert "Drover-Ignored" not in answer.headers


@pytest.mark.req("DI-09")
async def test_what_a_status_does_not_use_is_named(world):
    assignment = world.running(await world.phone_with_work())
    body = {"status": "running", "progress_pct": 3, "did_like": True, "completed_at": None}
    answer = await world.report(assignment.assignment_id, body)
    assert (answer.status, answer.headers["Drover-Ignored"]) == (204, "did_like, completed_at")
