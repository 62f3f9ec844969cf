"""Jobs at the edge: bodies become commands, refusals name the field, outcomes become rows."""

from __future__ import annotations

import pytest

from drover.bus.messages import Rejected
from drover.domain.errors import Code
from drover.domain.fleet.commands import (
    CancelJob,
    CreateJob,
    DeactivateJob,
    PauseJob,
    PrioritizeJob,
    ResumeJob,
    RunJobNext,
    ScheduleJob,
)
from drover.domain.fleet.events import Target
from drover.readmodel.models import RELATIONS
from drover.service.api_keys import Role, issue_api_key
from tests.unit.gateway.office import URL, device_id, open_office

SHOW = {"Prefer": "return=representation"}
ID = "018f2b5e-0000-7000-8000-00000000000a"
NOBODY = "018f2b5e-0000-7000-8000-00000000ffff"


@pytest.fixture
async def office():
    async with open_office() as office:
        yield office


@pytest.mark.req("DF-07")
async def test_a_job_is_created_and_shown(office):
    answer = await office.ask("POST", "jobs", {"target_url": URL, "title": "One"}, **SHOW)
    (row,) = await answer.json()
    assert answer.status == 201
    assert answer.headers["Drover-Position"] == "fleet=1"
    assert (row["title"], row["target_url"], row["status"], row["is_active"]) == ("One", URL, "created", True)
    assert row["created_at"] == "2026-03-02T12:00:00Z"
    assert row.keys() <= RELATIONS["jobs"].columns.keys()


@pytest.mark.req("DF-02")
async def test_what_is_left_out_has_its_default_and_what_is_said_arrives(office):
    await office.ask("POST", "jobs", {"target_url": URL})
    (created,) = office.bus.commands
    assert created == CreateJob(job_id=created.job_id, target_url=URL)
    office.phones(1)
    said = {
        "id": ID,
        "target_url": "https://www.youtube.com/watch?v=1",
        "title": "제목",
        "script_type": "youtube_shorts",
        "duration_min_pct": 10,
        "duration_max_pct": 100,
        "prob_like": 0,
        "prob_comment": 100,
        "prob_playlist": 1,
        "is_active": False,
        "base_reward": 2.5,
        "target": {"device_ids": [device_id(1)]},
        "priority": -7,
    }
    answer = await office.ask("POST", "jobs", said, **SHOW)
    (row,) = await answer.json()
    assert {name: row[name] for name in said} == said
    assert office.bus.commands[-1].target == Target(device_ids=(device_id(1),))


@pytest.mark.req("DF-07", "DF-29")
async def test_a_maximum_below_the_minimum_is_refused_in_the_users_words(office):
    answer = await office.ask("POST", "jobs", {"target_url": URL, "duration_min_pct": 50, "duration_max_pct": 20})
    body = await answer.json()
    assert (answer.status, body["code"]) == (400, "VALIDATION_ERROR")
    assert body["message"] == "duration_max_pct must be >= duration_min_pct"
    assert body["details"] == {"field": "duration_max_pct", "value": 20, "rule": "V001"}
    assert office.bus.sent == []


@pytest.mark.req("DF-02", "DF-07", "DF-21")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("target_url", "https://example.com/x"),
        ("target_url", "https://youtu.be/"),
        ("target_url", None),
        ("target_url", 1),
        ("title", "x" * 201),
        ("script_type", "dance"),
        ("duration_min_pct", 9),
        ("duration_max_pct", 101),
        ("duration_max_pct", "90"),
        ("duration_max_pct", 50.5),
        ("prob_like", -1),
        ("prob_comment", 101),
        ("prob_playlist", None),
        ("is_active", "yes"),
        ("base_reward", -1),
        ("base_reward", "10"),
        ("id", "x"),
        ("target", "all"),
        ("priority", 101),
        ("priority", "high"),
        ("not_before", "tomorrow"),
        ("not_before", "2026-03-02T14:00:00"),
        ("target", {"group": "P1-G1"}),
    ],
)
async def test_a_bad_field_is_400_by_name_and_nothing_is_sent(office, field, value):
    answer = await office.ask("POST", "jobs", {"target_url": URL, field: value})
    body = await answer.json()
    assert (answer.status, body["code"], body["details"]["field"]) == (400, "VALIDATION_ERROR", field)
    assert office.bus.sent == []


@pytest.mark.parametrize(
    ("target", "field"),
    [
        ({"group_id": "G1"}, "group_id"),
        ({"group_id": "P1-G1", "pc_id": "PC-01"}, "target"),
        ({"device_ids": ["x"]}, "device_ids"),
        ({"count": 0}, "count"),
    ],
)
async def test_a_bad_target_is_400_by_name(office, target, field):
    answer = await office.ask("POST", "jobs", {"target_url": URL, "target": target})
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, field)


@pytest.mark.req("DF-21")
async def test_a_target_of_an_unknown_device_is_a_conflict_by_its_rule(office):
    answer = await office.ask("POST", "jobs", {"target_url": URL, "target": {"device_ids": [NOBODY]}})
    body = await answer.json()
    assert (answer.status, body["code"], body["details"]["rule"]) == (409, "CONFLICT", "V003")


@pytest.mark.req("DF-07")
async def test_the_key_in_every_phone_creates_jobs_only_where_that_is_set():
    for may, status in ((False, 403), (True, 201)):
        async with open_office(anon_may_create_jobs=may) as office:
            answer = await office.ask("POST", "jobs", {"target_url": URL}, key=office.anon)
            assert answer.status == status
            assert len(office.bus.sent) == may
            patch = await office.ask("PATCH", f"jobs?id=eq.{ID}", {"status": "paused"}, key=office.anon)
            assert patch.status == 403, "creating is all that the setting allows"


@pytest.mark.req("DF-07", "DF-29")
async def test_without_a_good_key_it_is_401(office):
    forged = {"apikey": issue_api_key("x" * 32, Role.SERVICE_ROLE, now_s=0)}
    for key in ({}, forged):
        answer = await office.ask("POST", "jobs", {"target_url": URL}, key=key)
        body = await answer.json()
        assert (answer.status, body["code"], body["message"]) == (401, "UNAUTHORIZED", "Invalid API key")


async def test_of_an_array_with_one_bad_row_nothing_is_sent(office):
    answer = await office.ask("POST", "jobs", [{"target_url": URL}, {"target_url": URL, "prob_like": 101}])
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, "[1].prob_like")
    assert office.bus.sent == []


async def test_an_id_that_is_taken_is_409(office):
    await office.job(id=ID)
    answer = await office.ask("POST", "jobs", {"target_url": URL, "id": ID})
    assert (answer.status, (await answer.json())["code"]) == (409, "23505")


async def test_a_repeat_with_the_same_key_is_the_same_command(office):
    for _ in range(2):
        await office.ask("POST", "jobs", {"target_url": URL, "id": ID}, **{"Idempotency-Key": "k1"})
    first, second = (sent["id"] for sent in office.bus.sent)
    assert first == second


async def test_the_same_key_and_body_for_another_job_is_another_command(office):
    """Otherwise the second would pass for a repeat of the first, and never happen."""
    for job_id in (await office.job(), await office.job()):
        await office.ask("PATCH", f"jobs?id=eq.{job_id}", {"status": "paused"}, **{"Idempotency-Key": "k1"})
    first, second = (sent["id"] for sent in office.bus.sent[-2:])
    assert first != second


@pytest.mark.req("DF-06")
@pytest.mark.parametrize(
    ("body", "command", "status", "is_active"),
    [
        ({"status": "paused"}, PauseJob, "paused", False),
        ({"status": "paused", "is_active": False}, PauseJob, "paused", False),
        ({"status": "cancelled"}, CancelJob, "cancelled", False),
        ({"is_active": False}, DeactivateJob, "deactivated", False),
        ({"is_active": True}, ResumeJob, "created", True),
        ({"status": "active"}, ResumeJob, "created", True),
        ({"status": "active", "is_active": True}, ResumeJob, "created", True),
    ],
)
async def test_a_patch_becomes_a_command_and_shows_what_came_of_it(office, body, command, status, is_active):
    job_id = await office.job()
    answer = await office.ask("PATCH", f"jobs?id=eq.{job_id}&select=id,status,is_active", body, **SHOW)
    assert (answer.status, await answer.json()) == (200, [{"id": job_id, "status": status, "is_active": is_active}])
    assert office.bus.commands[-1] == command(job_id)


@pytest.mark.req("OQ-02")
async def test_the_place_in_the_queue_is_changed_by_a_patch(office):
    first, second = await office.job(), await office.job()
    path = f"jobs?id=eq.{second}&select=priority,put_first"
    answer = await office.ask("PATCH", path, {"priority": 5}, **SHOW)
    assert await answer.json() == [{"priority": 5, "put_first": 0}]
    assert office.bus.commands[-1] == PrioritizeJob(second, 5)
    answer = await office.ask("PATCH", f"jobs?id=eq.{first}&select=put_first", {"run_next": True}, **SHOW)
    ((row,), command) = (await answer.json(), office.bus.commands[-1])
    assert command == RunJobNext(first)
    assert row["put_first"] > 0
    assert [job_id for _, job_id in office.roster.fleet.queue] == [first, second]


async def test_a_job_is_scheduled_changed_and_started_at_once(office):
    at = "2026-03-02T14:00:00Z"
    answer = await office.ask("POST", "jobs", {"target_url": URL, "id": ID, "not_before": at}, **SHOW)
    (row,) = await answer.json()
    assert (row["status"], row["not_before"], row["is_scheduled"]) == ("created", at, True)
    path = f"jobs?id=eq.{ID}&select=not_before,is_scheduled"
    later = "2026-03-03T01:30:00+09:00"
    answer = await office.ask("PATCH", path, {"not_before": later}, **SHOW)
    assert await answer.json() == [{"not_before": "2026-03-02T16:30:00Z", "is_scheduled": True}]
    answer = await office.ask("PATCH", path, {"not_before": None}, **SHOW)
    assert await answer.json() == [{"not_before": None, "is_scheduled": False}]
    assert office.bus.commands[-1] == ScheduleJob(ID, None)


async def test_a_time_that_has_passed_is_400_by_name(office):
    answer = await office.ask("POST", "jobs", {"target_url": URL, "not_before": "2026-03-02T11:59:59Z"})
    body = await answer.json()
    assert (answer.status, body["details"]["field"]) == (400, "not_before")
    assert "has passed" in body["message"]


async def test_a_patch_is_204_with_its_position_unless_more_is_asked_for(office):
    job_id = await office.job()
    answer = await office.ask("PATCH", f"jobs?id=eq.{job_id}", {"status": "paused"})
    assert (answer.status, await answer.read(), answer.headers["Drover-Position"]) == (204, b"", "fleet=2")
    answer = await office.ask("PATCH", f"jobs?id=eq.{job_id}", {"status": "paused"})
    assert answer.status == 204
    assert "Drover-Position" not in answer.headers, "nothing was written"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "status"),
        ({"status": "completed"}, "status"),
        ({"status": None}, "status"),
        ({"is_active": "no"}, "is_active"),
        ({"status": "paused", "is_active": True}, "is_active"),
        ({"status": "active", "is_active": False}, "is_active"),
        ({"title": "x"}, "title"),
        ({"priority": 101}, "priority"),
        ({"priority": None}, "priority"),
        ({"run_next": False}, "run_next"),
        ({"not_before": "2026-03-02T14:00:00"}, "not_before"),
        ({"not_before": None, "is_active": True}, "not_before"),
        ({"status": "paused", "priority": 1}, "priority"),
        ({"run_next": True, "priority": 1}, "run_next"),
    ],
)
async def test_a_bad_patch_is_400_by_name(office, body, field):
    job_id = await office.job()
    answer = await office.ask("PATCH", f"jobs?id=eq.{job_id}", body)
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, field)
    assert len(office.bus.sent) == 1


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("", 400, "VALIDATION_ERROR"),
        ("colour=eq.red", 400, "42703"),
        ("id=eq.x", 400, "22P02"),
        ("id=in.()", 404, "NOT_FOUND"),
        (f"id=eq.{NOBODY}", 404, "NOT_FOUND"),
    ],
)
async def test_a_patch_that_names_no_job_is_refused(office, query, status, code):
    office.pool.rows = []
    answer = await office.ask("PATCH", f"jobs?{query}", {"status": "paused"})
    assert (answer.status, (await answer.json())["code"]) == (status, code)


async def test_a_patch_of_several_leaves_out_those_that_nobody_knows(office):
    office.pool.rows = []
    jobs = [await office.job(), await office.job()]
    query = ",".join([jobs[0].upper(), NOBODY, jobs[1]])
    answer = await office.ask("PATCH", f"jobs?id=in.({query})&select=id,status", {"status": "paused"}, **SHOW)
    assert await answer.json() == [{"id": job_id, "status": "paused"} for job_id in jobs]


async def test_a_refusal_of_one_of_several_says_what_was_done(office):
    office.pool.rows = []
    ended, open_, unknown = await office.job(), await office.job(), NOBODY
    await office.ask("PATCH", f"jobs?id=eq.{ended}", {"status": "cancelled"})
    answer = await office.ask("PATCH", f"jobs?id=in.({unknown},{ended},{open_})", {"status": "paused"})
    body = await answer.json()
    assert (answer.status, body["code"], body["message"]) == (409, "CONFLICT", "Job already cancelled")
    assert (body["details"]["id"], body["details"]["accepted"]) == (ended, [open_])
    assert answer.headers["Drover-Position"] == "fleet=4"


async def test_more_rows_than_the_caller_allows_are_not_touched(office):
    jobs = [await office.job(), await office.job()]
    prefer = {"Prefer": "handling=strict, max-affected=1"}
    answer = await office.ask("PATCH", f"jobs?id=in.({','.join(jobs)})", {"status": "paused"}, **prefer)
    assert (answer.status, (await answer.json())["code"]) == (400, "PGRST124")
    assert len(office.bus.sent) == 2


@pytest.mark.parametrize(("code", "status"), [(Code.OVERLOADED, 503), (Code.UNAVAILABLE, 503), (Code.INTERNAL, 500)])
async def test_refusals_of_the_writer_become_http(office, code, status):
    office.bus.answer = Rejected(code, "no")
    assert (await office.ask("POST", "jobs", {"target_url": URL})).status == status
    assert (await office.ask("PATCH", f"jobs?id=eq.{ID}", {"status": "paused"})).status == status


async def test_a_roster_that_is_late_shows_what_the_command_recorded(office):
    office.bus.roster_hears = False
    answer = await office.ask("POST", "jobs", {"target_url": URL, "id": ID}, **SHOW)
    (row,) = await answer.json()
    assert (row["id"], row["status"], row["base_reward"]) == (ID, "created", 10)
    answer = await office.ask("PATCH", f"jobs?id=eq.{ID}", {"status": "paused"}, **SHOW)
    assert await answer.json() == [{"id": ID}], "what is not known is not made up"


@pytest.mark.req("DI-12")
async def test_with_all_rights_the_key_in_every_phone_registers_assigns_cancels_and_switches():
    async with open_office(anon="full") as office:
        device = {"serial_number": "SERIAL0001", "group_id": "P1-G1", "pc_id": "PC-01"}
        answer = await office.ask("POST", "devices", device, key=office.anon, **SHOW)
        (device,) = await answer.json()
        answer = await office.ask("POST", "jobs", {"target_url": URL}, key=office.anon, **SHOW)
        (job,) = await answer.json()
        row = {"job_id": job["id"], "device_id": device["id"]}
        answer = await office.ask("POST", "job_assignments", row, key=office.anon, **SHOW)
        (assignment,) = await answer.json()
        path = f"job_assignments?id=eq.{assignment['id']}"
        assert (await office.ask("PATCH", path, {"status": "cancelled"}, key=office.anon)).status == 204
        path = f"jobs?id=eq.{job['id']}"
        assert (await office.ask("PATCH", path, {"is_active": False}, key=office.anon)).status == 204
        assert (await office.ask("PATCH", "pcs?id=eq.PC-01", {"capacity": 3}, key=office.anon)).status == 403


@pytest.mark.req("DI-11")
async def test_a_job_without_a_target_can_be_for_assigned_devices_only():
    async with open_office(jobs_for="assigned") as office:
        office.phones(1, 2)
        job_id = await office.job()
        assert office.roster.fleet.assignments == {}
        await office.ask("POST", "job_assignments", {"job_id": job_id, "device_id": device_id(2)})
        assert [a.device_id for a in office.roster.fleet.assignments.values()] == [device_id(2)]
        grouped = await office.job(target={"group_id": "P1-G1"})
        assert office.roster.fleet.jobs[grouped].spec.target.group_id == "P1-G1", "a target beats the setting"
