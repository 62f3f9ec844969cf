"""Assignments at the edge: devices are named for jobs, people cancel, agents' reports are handed on."""

from __future__ import annotations

import pytest

from drover.bus.messages import Accepted
from drover.domain.fleet.commands import AssignJob, CancelAssignment, ReportCompleted, ReportFailed
from drover.gateway.tables.assignments import AssignmentChange
from drover.readmodel.models import RELATIONS
from drover.web.errors import ApiError
from tests.unit.gateway.office import device_id, open_office

SHOW = {"Prefer": "return=representation"}
ID = "018f2b5e-0000-7000-8000-00000000000a"
NOBODY = "018f2b5e-0000-7000-8000-00000000ffff"


@pytest.fixture
async def office():
    async with open_office() as office:
        yield office


async def assign(office, job_id, number, **headers):
    return await office.ask("POST", "job_assignments", {"job_id": job_id, "device_id": device_id(number)}, **headers)


@pytest.mark.req("DF-08")
async def test_a_device_that_is_named_for_a_job_waits_for_its_turn(office):
    office.phones(1, 2)
    await office.job()
    behind = await office.job(target={"device_ids": []})
    answer = await assign(office, behind, 1, **SHOW)
    (row,) = await answer.json()
    assert answer.status == 201
    assert (row["job_id"], row["device_id"], row["pc_id"]) == (behind, device_id(1), "PC-01")
    assert (row["status"], row["assigned_at"], row["retry_count"]) == ("pending", None, 0)
    assert row.keys() <= RELATIONS["job_assignments"].columns.keys()
    assert office.bus.commands[-1] == AssignJob(row["id"], behind, device_id(1))


async def test_a_client_may_choose_the_id_and_say_pending(office):
    office.phones(1)
    body = {"id": ID, "job_id": await office.job(is_active=False), "device_id": device_id(1), "status": "pending"}
    answer = await office.ask("POST", "job_assignments?select=id", body, **SHOW)
    assert (answer.status, await answer.json()) == (201, [{"id": ID}])


@pytest.mark.req("DF-20")
async def test_a_second_one_that_is_pending_or_running_is_the_first(office):
    office.phones(1)
    job_id = await office.job()
    for status in ("pending", "running"):
        if status == "running":
            office.start(1)
        answer = await assign(office, job_id, 1, **SHOW)
        (row,) = await answer.json()
        assert (answer.status, row["id"], row["status"]) == (201, office.on(1), status)
        assert "Drover-Position" not in answer.headers, "nothing was written"


@pytest.mark.req("DF-20")
async def test_a_second_one_after_its_end_is_409(office):
    office.phones(1, 2)
    job_id = await office.job()
    office.bus.do(ReportCompleted(office.start(1), progress_pct=100, actual_duration_sec=60))
    answer = await assign(office, job_id, 1)
    body = await answer.json()
    assert (answer.status, body["code"], body["details"]["status"]) == (409, "23505", "completed")


@pytest.mark.req("DF-20")
async def test_a_failed_one_with_attempts_left_is_pending_again(office):
    office.phones(1, 2)
    job_id = await office.job()
    failed = office.start(1)
    office.bus.do(ReportFailed(failed, error_code="VIDEO_AGE_RESTRICTED"))
    answer = await assign(office, job_id, 1, **SHOW)
    (row,) = await answer.json()
    assert (answer.status, row["id"], row["status"], row["retry_count"]) == (201, failed, "pending", 1)


@pytest.mark.req("DF-21")
@pytest.mark.parametrize(("job_id", "number", "field"), [(NOBODY, 1, "job_id"), (None, 9, "device_id")])
async def test_a_job_or_device_that_is_not_there_is_409_by_its_rule(office, job_id, number, field):
    office.phones(1)
    answer = await assign(office, job_id or await office.job(), number)
    body = await answer.json()
    assert (answer.status, body["code"]) == (409, "CONFLICT")
    assert (body["details"]["rule"], body["details"]["field"]) == ("V003", field)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"job_id": "x"}, "job_id"),
        ({"job_id": None}, "job_id"),
        ({"device_id": 1}, "device_id"),
        ({"status": "running"}, "status"),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_a_bad_assignment_is_400_by_name(office, change, field):
    body = {"job_id": ID, "device_id": device_id(1)} | change
    answer = await office.ask("POST", "job_assignments", body)
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, field)
    assert office.bus.sent == []


async def test_the_key_in_every_phone_neither_assigns_nor_cancels(office):
    office.phones(1)
    await office.job()
    body = {"job_id": ID, "device_id": device_id(1)}
    assert (await office.ask("POST", "job_assignments", body, key=office.anon)).status == 403
    answer = await office.ask(
        "PATCH", f"job_assignments?id=eq.{office.on(1)}", {"status": "cancelled"}, key=office.anon
    )
    assert answer.status == 403
    assert office.reports.taken == []
    assert len(office.bus.sent) == 1, "only the job"


@pytest.mark.req("DF-05")
async def test_a_person_cancels_what_is_pending(office):
    office.phones(1)
    await office.job()
    assignment_id = office.on(1)
    answer = await office.ask("PATCH", f"job_assignments?id=eq.{assignment_id}", {"status": "cancelled"}, **SHOW)
    (row,) = await answer.json()
    assert (answer.status, row["id"], row["status"]) == (200, assignment_id, "cancelled")
    assert office.bus.commands[-1] == CancelAssignment(assignment_id)
    assert office.reports.taken == []


async def test_what_runs_is_not_cancelled_and_of_several_the_rest_is(office):
    office.phones(1, 2)
    await office.job()
    running, pending = office.start(1), office.on(2)
    path = f"job_assignments?id=in.({running},{pending},{NOBODY})"
    answer = await office.ask("PATCH", path, {"status": "cancelled"})
    body = await answer.json()
    assert (answer.status, body["code"]) == (409, "CONFLICT")
    assert (body["details"]["id"], body["details"]["accepted"]) == (running, [pending])


@pytest.mark.req("DF-29")
async def test_one_that_nobody_knows_is_404_in_the_users_words(office):
    office.pool.rows = []
    answer = await office.ask("PATCH", f"job_assignments?id=eq.{NOBODY}", {"status": "cancelled"})
    body = await answer.json()
    assert (answer.status, body["code"], body["message"]) == (404, "NOT_FOUND", "Assignment not found")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"status": "stopped"}, "status"),
        ({}, "status"),
        ({"status": "running", "colour": "red"}, "colour"),
        ({"status": "running", "progress_pct": 101}, "progress_pct"),
    ],
)
async def test_a_bad_patch_is_400_by_name(office, body, field):
    answer = await office.ask("PATCH", f"job_assignments?id=eq.{ID}", body)
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, field)
    assert office.bus.sent == office.reports.taken == []


@pytest.mark.parametrize("raw", [b"", b"[]", b"null", b"{", b"\xff", b'{"status": 1}', b"[" * 100_000])
async def test_a_patch_that_is_no_object_is_400(office, raw):
    headers = office.service | {"Content-Type": "application/json"}
    answer = await office.client.patch(f"/rest/v1/job_assignments?id=eq.{ID}", data=raw, headers=headers)
    assert (answer.status, (await answer.json())["code"]) == (400, "VALIDATION_ERROR")


@pytest.mark.req("DF-10")
async def test_a_report_of_an_agent_is_handed_on_with_its_key(office):
    path = f"job_assignments?id=eq.{ID.upper()}"
    body = {"status": "running", "progress_pct": 40, "run": 3}
    answer = await office.ask("PATCH", path, body, key=office.anon, **{"Idempotency-Key": "k1"})
    assert (answer.status, await answer.read()) == (204, b"")
    ((assignment_id, report, rest),) = office.reports.taken
    assert (assignment_id, report) == (ID, AssignmentChange("running", run=3, progress_pct=40))
    assert rest["key"] == "k1"
    assert b'"progress_pct":40' in rest["raw"]


async def test_a_report_that_was_written_down_says_where(office):
    office.reports.answers[ID] = Accepted(17)
    answer = await office.ask("PATCH", f"job_assignments?id=eq.{ID}", {"status": "running"}, key=office.anon)
    assert answer.headers["Drover-Position"] == "fleet=17"


@pytest.mark.parametrize(("status", "code"), [(404, "NOT_FOUND"), (409, "STALE_ATTEMPT"), (429, "RATE_LIMITED")])
async def test_a_refused_report_is_told_as_it_is(office, status, code):
    office.reports.answers[ID] = ApiError(status, code, "no", headers={"Retry-After": "7"})
    answer = await office.ask("PATCH", f"job_assignments?id=eq.{ID}", {"status": "running"}, key=office.anon)
    body = await answer.json()
    assert (answer.status, body["code"], answer.headers["Retry-After"]) == (status, code, "7")
    assert body["details"] is None, "of one row there is nothing to tell apart"


async def test_a_running_report_can_be_shown(office):
    office.phones(1)
    await office.job()
    assignment_id = office.start(1)
    answer = await office.ask(
        "PATCH", f"job_assignments?id=eq.{assignment_id}", {"status": "running"}, key=office.anon, **SHOW
    )
    (row,) = await answer.json()
    assert (row["id"], row["status"], row["run"]) == (assignment_id, "running", 1)


async def test_a_final_report_shows_how_it_ended(office):
    office.phones(1, 2)
    await office.job()
    assignment_id = office.start(1)
    done = office.bus.do(ReportCompleted(assignment_id, progress_pct=100, actual_duration_sec=60, did_like=True))
    office.reports.answers[assignment_id] = done
    answer = await office.ask(
        "PATCH", f"job_assignments?id=eq.{assignment_id}", {"status": "completed"}, key=office.anon, **SHOW
    )
    (row,) = await answer.json()
    assert (row["id"], row["status"], row["actual_duration_sec"]) == (assignment_id, "completed", 60)
    assert (row["did_like"], row["device_id"], row["run"]) == (True, device_id(1), 1)
