"""PCs, devices and jobs as people read them, folded from a farm's real history."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from drover.domain.fleet.events import DeviceQuarantined
from drover.postgres.migrate import migrate
from drover.readmodel.form import placed
from tests.integration.api.reads.desk import desk_on
from tests.integration.api.reads.logs import Logs, at_second
from tests.integration.projection.history import FarmHistory

START = datetime(2026, 3, 1, tzinfo=UTC)
pytestmark = pytest.mark.req("EV-05")


class Farm:
    def __init__(self, desk: Any, logs: Logs, history: FarmHistory, connection: asyncpg.Connection) -> None:
        self.desk = desk
        self.logs = logs
        self.history = history
        self.connection = connection


@pytest.fixture
async def farm(postgres_dsn):
    """Some four hundred assignments of seven jobs on sixty phones."""
    await migrate(postgres_dsn)
    logs = Logs(at_second(START))
    history = FarmHistory(logs["fleet"], START)
    await history.write()
    await logs["fleet"].commit(DeviceQuarantined(history.works[3].device_id, "APP_CRASH", None, None, None))
    await logs.project(postgres_dsn)
    connection = await asyncpg.connect(postgres_dsn)
    async with desk_on(postgres_dsn) as desk:
        yield Farm(desk, logs, history, connection)
    await connection.close()


async def test_devices_are_as_the_view_that_agents_know_has_them(farm):
    shown = {row["id"]: row for row in await farm.desk.rows("/api/devices")}
    known = await farm.connection.fetch(placed("SELECT * FROM rm_fleet.devices"))
    assert len(shown) == len(known) == 60
    for row in known:
        device = shown[str(row["id"])]
        for column in ("serial_number", "group_id", "pc_id", "status", "capabilities", "error_code"):
            assert device[column] == row[column], column


async def test_devices_come_page_by_page_in_the_order_of_their_serial_numbers(farm):
    pages = await farm.desk.pages("/api/devices?limit=7")
    serials = [row["serial_number"] for page in pages for row in page]
    assert serials == sorted(set(serials)) and len(serials) == 60
    assert [len(page) for page in pages] == [7] * 8 + [4]


async def test_devices_can_be_found_by_pc_group_state_and_beginning_of_the_serial_number(farm):
    devices = await farm.desk.rows("/api/devices")
    for query, holds in (
        ("pc_id=pc-1", lambda row: row["pc_id"] == "pc-1"),
        ("group_id=P1-G1", lambda row: row["group_id"] == "P1-G1"),
        ("status=error", lambda row: row["status"] == "error"),
        ("status=busy,offline", lambda row: row["status"] in ("busy", "offline")),
        ("status=online&pc_id=pc-2", lambda row: row["status"] == "online" and row["pc_id"] == "pc-2"),
        ("serial=SERIAL00001", lambda row: row["serial_number"].startswith("SERIAL00001")),
    ):
        expected = [row for row in devices if holds(row)]
        assert expected, query
        assert await farm.desk.rows(f"/api/devices?limit=3&{query}") == expected, query


async def test_a_device_shows_the_work_that_it_has_in_hand(farm):
    in_hand = {work.device_id: work for work in farm.history.works if work.status in ("claimed", "running")}
    shown = {row["id"]: row["work"] for row in await farm.desk.rows("/api/devices") if row["work"]}
    for device_id, work in in_hand.items():
        found = shown[device_id]
        assert (found["assignment_id"], found["job_id"], found["run"]) == (work.id, work.job_id, work.run)
        assert found["phase"] == {"claimed": "sent", "running": "running"}[work.status]
        assert found["job_title"] == "a video"


async def test_telemetry_moves_progress_between_two_events_and_says_what_a_phone_reported(farm):
    running = next(work for work in farm.history.works if work.status == "running")
    await farm.connection.execute(
        "INSERT INTO tel_fleet.presence VALUES ($1::text::uuid, now(), $2, $3::text::uuid, $4, 37, FALSE)",
        running.device_id,
        '{"battery_pct": 80}',
        running.id,
        running.run,
    )
    detail = await farm.desk.get(f"/api/devices/{running.device_id}")
    assert detail["device"]["work"]["progress_pct"] == 37
    assert detail["reported"] == {"battery_pct": 80}


async def test_pcs_have_their_slots_with_device_job_and_progress(farm):
    pcs = await farm.desk.rows("/api/pcs?limit=4")
    devices = await farm.desk.rows("/api/devices")
    assert [pc["id"] for pc in pcs] == [f"pc-{number}" for number in range(6)]
    for pc in pcs:
        mine = [device for device in devices if device["pc_id"] == pc["id"]]
        assert pc["devices"] == len(mine)
        counts = Counter(device["status"] for device in mine)
        assert {state: pc[state] for state in ("online", "offline", "busy", "error")} == {
            state: counts[state] for state in ("online", "offline", "busy", "error")
        }
        assert [(slot["device_id"], slot["work"]) for slot in pc["in_use"]] == [
            (device["id"], device["work"]) for device in mine if device["work"]
        ]
    assert pcs[0]["slots"] == 3, "its capacity was lowered"
    assert any(pc["in_use"] for pc in pcs)
    (one,) = await farm.desk.rows("/api/pcs?id=pc-3")
    assert one == pcs[3]


async def test_a_devices_day_is_shown_as_its_attempts(farm):
    window = "from=2026-03-01T00:00:00Z&to=2026-03-02T00:00:00Z"
    for device_id in {work.device_id for work in farm.history.works[:5]}:
        detail = await farm.desk.get(f"/api/devices/{device_id}?{window}")
        expected = {
            (work.id, run): kinds
            for work in farm.history.works
            if work.device_id == device_id
            for run, kinds in _by_run(work).items()
        }
        shown = {(attempt["assignment_id"], attempt["run"]): attempt for attempt in detail["attempts"]}
        assert shown.keys() == expected.keys()
        for place, kinds in expected.items():
            attempt = shown[place]
            ending = next((kind for kind in reversed(kinds) if kind in ENDINGS), None)
            assert attempt["outcome"] == ending
            assert attempt["final"] == ("FAILED_FINAL" in kinds)
            assert (attempt["sent_at"] is not None) == ("SENT" in kinds)
            assert (attempt["started_at"] is not None) == ("ACKED" in kinds)
            times = [attempt[name] for name in ("offered_at", "sent_at", "started_at", "ended_at") if attempt[name]]
            assert times == sorted(times)
        assert not detail["attempts_left_out"]


async def test_an_attempt_that_reaches_into_the_window_is_shown_whole_and_one_that_ended_before_is_not(farm):
    attempts = [told for told in reversed(farm.logs.told) if type(told.event).__name__ == "AttemptSucceeded"]
    first = attempts[0].event
    just_before_its_end = first.at - timedelta(milliseconds=500)
    path = f"/api/devices/{first.device_id}?to=2026-03-02T00:00:00Z&from="
    shown = (await farm.desk.get(path + _text(just_before_its_end)))["attempts"]
    assert (shown[0]["assignment_id"], shown[0]["outcome"]) == (first.assignment_id, "SUCCEEDED")
    assert shown[0]["started_at"] < _text(just_before_its_end), "it began before the window"
    later = (await farm.desk.get(path + _text(first.at + timedelta(milliseconds=500))))["attempts"]
    assert first.assignment_id not in [attempt["assignment_id"] for attempt in later]


async def test_jobs_come_newest_first_or_oldest_first_and_by_state(farm):
    jobs = await farm.desk.rows("/api/jobs?limit=3")
    assert [job["id"] for job in reversed(jobs)] == list(farm.history.task_status)
    assert await farm.desk.rows("/api/jobs?limit=3&order=oldest") == jobs[::-1]
    for states in (["created", "paused"], ["active"], ["completed", "expired", "deactivated", "cancelled"]):
        expected = [job for job in jobs if job["status"] in states]
        assert expected
        assert await farm.desk.rows(f"/api/jobs?limit=2&status={','.join(states)}") == expected
    between = await farm.desk.rows(f"/api/jobs?from={jobs[5]['created_at']}&to={jobs[2]['created_at']}")
    assert between == jobs[3:6]


async def test_a_job_has_its_counters_assignments_and_attempts(farm):
    for job_id in farm.history.task_status:
        works = {work.id: work for work in farm.history.works if work.job_id == job_id}
        detail = await farm.desk.get(f"/api/jobs/{job_id}")
        job = detail["job"]
        counted = sum(job[name] for name in ("pending", "running", "retrying", "completed", "failed", "cancelled"))
        assignments = await farm.desk.rows(f"/api/jobs/{job_id}/assignments?limit=11")
        taken_back = [row for row in assignments if row["status"] == "cancelled" and row["reason"] != "admin"]
        assert counted == len(works) - len(taken_back)
        assert assignments == detail["assignments"]["items"]
        assert {row["id"]: row["status"] for row in assignments} == {
            work.id: {"claimed": "pending"}.get(work.status, work.status) for work in works.values()
        }
        assert [row["created_at"] for row in assignments] == sorted(row["created_at"] for row in assignments)
        failed = await farm.desk.rows(f"/api/jobs/{job_id}/assignments?limit=2&status=failed,cancelled")
        assert failed == [row for row in assignments if row["status"] in ("failed", "cancelled")]
        assert sum(failure["assignments"] for failure in detail["failures"]) == job["failed"]


async def test_what_happened_to_attempts_of_a_job_comes_newest_first(farm):
    job_id = next(iter(farm.history.task_status))
    rows = await farm.desk.rows(f"/api/jobs/{job_id}/attempts?limit=50")
    expected = Counter(
        (work.id, *entry) for work in farm.history.works if work.job_id == job_id for entry in work.history
    )
    assert Counter((row["assignment_id"], row["event_type"], row["attempt"], row["run"]) for row in rows) == expected
    assert [row["id"] for row in rows] == sorted((row["id"] for row in rows), reverse=True)
    finals = await farm.desk.rows(f"/api/jobs/{job_id}/attempts?event_type=FAILED_FINAL,TIMEOUT")
    assert finals == [row for row in rows if row["event_type"] in ("FAILED_FINAL", "TIMEOUT")]
    mine = await farm.desk.rows(f"/api/jobs/{job_id}/attempts?assignment_id={rows[0]['assignment_id']}")
    assert mine == [row for row in rows if row["assignment_id"] == rows[0]["assignment_id"]]


async def test_the_minutes_add_up_to_the_history(farm):
    (sums,) = await farm.connection.fetch(
        placed(
            'SELECT sum(created) AS "CREATED", sum(sent) AS "SENT", sum(started) AS "ACKED",'
            ' sum(succeeded) AS "SUCCEEDED", sum(failed) AS "FAILED", sum(timed_out) AS "TIMEOUT",'
            ' sum(failed_final) AS "FAILED_FINAL", sum(rolled_back) AS "ROLLED_BACK", sum(cancelled) AS "CANCELLED"'
            " FROM rm_fleet.attempt_minutes"
        )
    )
    history = Counter(kind for work in farm.history.works for kind, _, _ in work.history)
    assert dict(sums) == {kind: history[kind] for kind in dict(sums)}
    by_minute = await farm.connection.fetch(
        placed("SELECT minute, succeeded, ran_ms FROM rm_fleet.attempt_minutes WHERE succeeded > 0")
    )
    counted = await farm.connection.fetch(
        placed(
            "SELECT date_trunc('minute', created_at) AS minute, count(*) AS succeeded FROM rm_fleet.tasks_event"
            " WHERE event_type = 'SUCCEEDED' GROUP BY minute"
        )
    )
    assert {row["minute"]: row["succeeded"] for row in by_minute} == {
        row["minute"]: row["succeeded"] for row in counted
    }
    assert all(row["ran_ms"] > 0 for row in by_minute)


async def test_what_is_not_there_is_404(farm):
    nobody = "00000000-0000-4000-8000-00000000dead"
    for path in (f"/api/devices/{nobody}", f"/api/jobs/{nobody}"):
        status, body = await farm.desk.ask(path)
        assert (status, body["error"]) == (404, "NOT_FOUND")
    assert await farm.desk.rows(f"/api/jobs/{nobody}/assignments") == []


ENDINGS = ("SUCCEEDED", "FAILED", "TIMEOUT", "ROLLED_BACK", "CANCELLED")


def _by_run(work: Any) -> dict[int, list[str]]:
    runs: dict[int, list[str]] = {}
    for kind, _, run in work.history:
        if kind != "STALE_REPORT":
            runs.setdefault(run, []).append(kind)
    return runs


def _text(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
