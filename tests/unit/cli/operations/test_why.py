"""`drover why`: what an id is, and where the platform explains it."""

from __future__ import annotations

import json

import pytest

from drover.cli.exits import Exit

JOB = "0199a1b2-4c3d-7000-8000-000000000001"
EMPTY = ("jobs", "job_assignments", "devices", "render_queue", "saju_tests", "alarm")
FOUND = {
    "jobs": {"id": JOB, "title": "Launch", "status": "created"},
    "job_assignments": {
        "id": JOB,
        "status": "pending",
        "jobs": {"title": "Launch"},
        "devices": {"serial_number": "R58M00001"},
    },
    "devices": {"id": JOB, "serial_number": "R58M00001", "pc_id": "PC-01", "status": "online"},
    "render_queue": {"id": 42, "composition_name": "Bio", "status": "pending"},
    "saju_tests": {"id": JOB, "user_id": "u1", "status": "processing"},
    "alarm": {"page_id": "p1", "user_id": "u 1"},
}


@pytest.fixture
def platform(double):
    for relation in EMPTY:
        double.answer(f"/rest/v1/{relation}", [])
    return double


def explain(platform, path, about, *sentences):
    reasons = [{"sentence": sentence, "data": {"code": "x"}} for sentence in sentences]
    platform.answer(path, {"about": about, "id": "x", "status": "created", "reasons": reasons})


@pytest.mark.parametrize(
    ("relation", "given", "path", "asked"),
    [
        ("jobs", JOB, "/rest/v1/rpc/why", f"job_id={JOB}"),
        ("job_assignments", JOB[:13], "/rest/v1/rpc/why", f"assignment_id={JOB}"),
        ("devices", "r58m00001", "/rest/v1/rpc/why", f"device_id={JOB}"),
        ("render_queue", "42", "/api/why/renders/42", "/renders/42"),
        ("saju_tests", JOB, f"/api/why/tests/{JOB}", f"/tests/{JOB}"),
        ("alarm", "p1", "/api/why/reminders/u 1/p1", "/reminders/u%201/p1"),
    ],
)
def test_each_kind_is_recognised_and_explained_where_the_platform_does(relation, given, path, asked, platform, drover):
    platform.answer(f"/rest/v1/{relation}", [FOUND[relation]])
    explain(platform, path, relation, f"Job {JOB} waits.")
    code, out, err = drover("why", given)
    assert (code, err) == (Exit.OK, "")
    assert any(asked in url for _, url, _, _ in platform.requests)
    assert "1. Job" in out
    assert json.loads(drover("why", given, "--json")[1])["about"] == relation


def test_sentences_name_what_people_know(platform, drover):
    platform.answer("/rest/v1/job_assignments", [FOUND["job_assignments"]])
    explain(platform, "/rest/v1/rpc/why", "assignment", f"Assignment {JOB} was cancelled.")
    _, out, _ = drover("why", JOB)
    assert out.splitlines()[0].startswith("assignment “Launch” on R58M00001 (0199a1b2-4c3d)")
    assert out.splitlines()[1].strip() == "1. Assignment “Launch” on R58M00001 was cancelled."


def test_an_id_of_two_kinds_names_both_and_kind_chooses(platform, drover):
    platform.answer("/rest/v1/jobs", [FOUND["jobs"]])
    platform.answer("/rest/v1/saju_tests", [FOUND["saju_tests"]])
    code, _, err = drover("why", JOB[:13])
    assert code == Exit.USAGE
    assert "job “Launch”" in err
    assert "test of u1" in err
    explain(platform, "/rest/v1/rpc/why", "job", "It waits.")
    assert drover("why", JOB[:13], "--kind", "job")[0] == Exit.OK


def test_a_kind_that_the_key_may_not_read_hides_no_other(platform, drover):
    platform.answer("/rest/v1/alarm", {"code": "42501", "message": "permission denied"}, status=403)
    platform.answer("/rest/v1/jobs", [FOUND["jobs"]])
    explain(platform, "/rest/v1/rpc/why", "job", "It waits.")
    assert drover("why", JOB)[0] == Exit.OK


def test_an_unknown_id_and_an_older_platform_are_told_apart(platform, drover):
    code, _, err = drover("why", "nothing")
    assert code == Exit.NOT_FOUND
    assert "There is no job, assignment, device, render, test or alarm nothing." in err
    platform.answer("/rest/v1/render_queue", [FOUND["render_queue"]])
    code, _, err = drover("why", "42")
    assert code == Exit.NOT_FOUND
    assert "cannot explain a render. `drover renders show ID`" in err


def test_an_alarm_is_explained_by_its_user_and_page_to_those_who_may_not_read_texts(platform, drover):
    platform.answer("/rest/v1/alarm", {"code": "42501", "message": "permission denied"}, status=403)
    platform.answer("/api/reminders/u1/p1", {"reminder": {"page_id": "p1", "user_id": "u1", "title": "Notes"}})
    explain(platform, "/api/why/reminders/u1/p1", "reminder", "It is not due.")
    code, out, err = drover("why", "u1/p1")
    assert (code, err) == (Exit.OK, "")
    assert "1. It is not due." in out
    code, _, err = drover("why", "u1/p2", "--kind", "alarm")
    assert code == Exit.NOT_FOUND
    assert "There is no alarm u1/p2. `drover alarms list`" in err
