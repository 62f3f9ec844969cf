"""`drover jobs`: priority, run next and schedule, and what of them a job that runs again keeps."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from drover.cli.exits import Exit
from drover.cli.moments import coming_moment
from drover.domain.fleet.job_spec import JobSpec

NOW = datetime(2026, 1, 31, 8, 0, tzinfo=UTC)
ID = "0199a1b2-4c3d-7000-8000-000000000001"
OTHER = "0199a1b2-4c3e-7000-8000-000000000002"
SPEC = {
    "target_url": "https://youtu.be/abc",
    "title": "Launch",
    "script_type": "youtube_shorts",
    "duration_min_pct": 40,
    "duration_max_pct": 80,
    "prob_like": 1,
    "prob_comment": 2,
    "prob_playlist": 3,
    "base_reward": 4.5,
    "target": {"group_id": "P1-G1"},
    "priority": 7,
    "not_before": "2026-01-31T08:00:00Z",
}
COUNTERS = dict.fromkeys(("pending", "running", "retrying", "completed", "failed", "cancelled", "skipped"), 0)


def job(id_=ID, **more):
    course = dict.fromkeys(("activated_at", "ended_at", "end_reason", "paused_for"))
    known = {"id": id_, "status": "created", "put_first": 0, "is_scheduled": False, "needs": []}
    return SPEC | COUNTERS | course | known | {"created_at": "2026-01-30T08:00:00Z"} | more


def sent(double, method):
    return [json.loads(body) for verb, _, _, body in double.requests if verb == method]


def test_a_job_that_runs_again_has_everything_that_a_client_can_set_except_the_time(double, drover):
    assert SPEC.keys() == set(JobSpec.__struct_fields__), "this test knows all fields"
    double.answer("/rest/v1/jobs", [job()])
    double.answer(f"/api/jobs/{ID}", {"job": job(status="completed")})
    assert drover("jobs", "run-again", ID)[:2] == (Exit.OK, f"{ID}\n")
    assert sent(double, "POST") == [{name: value for name, value in SPEC.items() if name != "not_before"}]


def test_a_new_job_has_a_priority_and_waits_for_a_time(double, drover):
    double.answer("/rest/v1/jobs", [job()])
    at = "2040-01-31T08:00:00+00:00"
    code, out, err = drover("jobs", "create", "https://youtu.be/abc", "--priority", "-5", "--not-before", at)
    assert (code, out) == (Exit.OK, f"{ID}\n")
    assert err.startswith("Created “Launch”, not before 2040-01-31 ")
    assert sent(double, "POST") == [
        {"target_url": "https://youtu.be/abc", "priority": -5, "not_before": at, "is_active": True}
    ]


@pytest.mark.parametrize(
    ("arguments", "change", "says"),
    [
        (("next", ID), {"run_next": True}, f"Put “Launch” ({ID}) first.\n"),
        (("prioritize", ID, "--priority", "-7"), {"priority": -7}, f"The priority of “Launch” ({ID}) is -7.\n"),
        (("schedule", ID, "--now"), {"not_before": None}, f"“Launch” ({ID}) may start now.\n"),
    ],
)
def test_the_turn_of_a_job_is_changed_in_one_request(arguments, change, says, double, drover):
    double.answer("/rest/v1/jobs", [job()])
    assert drover("jobs", *arguments) == (Exit.OK, says, "")
    assert sent(double, "PATCH") == [change]


def test_a_job_is_scheduled_in_how_long_from_now(double, drover):
    double.answer("/rest/v1/jobs", [job()])
    earliest = datetime.now(UTC) + timedelta(hours=2)
    code, out, _ = drover("jobs", "schedule", ID, "--at", "2h")
    assert code == Exit.OK
    assert out.startswith(f"“Launch” ({ID}) is scheduled for ")
    (change,) = sent(double, "PATCH")
    assert earliest <= datetime.fromisoformat(change["not_before"]) <= datetime.now(UTC) + timedelta(hours=2)


def test_of_several_jobs_the_first_runs_first(double, drover):
    double.answers["/rest/v1/jobs"] = [(200, [job(id_)], {}) for id_ in (OTHER, OTHER, ID, ID)]
    assert drover("jobs", "next", ID, OTHER)[0] == Exit.OK
    named = [OTHER if OTHER in url else ID for _, url, _, _ in double.requests]
    assert named == [OTHER, OTHER, ID, ID], "the one that is put first last is before the others"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("schedule", ID), "either --at TIME or --now"),
        (("schedule", ID, "--now", "--at", "2h"), "either --at TIME or --now"),
        (("schedule", ID, "--at", "2020-01-31T08:00"), "has passed"),
        (("schedule", ID, "--at", "soon"), "is not a time. Write in how long"),
        (("create", "https://youtu.be/abc", "--not-before", "0s"), "has passed"),
        (("create", "https://youtu.be/abc", "--priority", "101"), "-100<=x<=100"),
        (("prioritize", ID), "--priority"),
    ],
)
def test_a_turn_that_cannot_be_is_refused_before_anything_is_sent(arguments, says, double, drover):
    code, _, err = drover("jobs", *arguments)
    assert code == Exit.USAGE
    assert says in err
    assert double.requests == []


@pytest.mark.parametrize(
    ("text", "at"),
    [("10m", NOW + timedelta(minutes=10)), (" 1.5h ", NOW + timedelta(hours=1.5)), ("2026-01-31T09:00+09:00", None)],
)
def test_a_time_to_come_is_a_span_from_now_or_a_time(text, at):
    assert coming_moment(text, NOW) == (at or datetime(2026, 1, 31, 0, 0, tzinfo=UTC))


def test_a_list_has_the_turns_of_jobs_only_if_some_has_one(double, drover):
    soon = (datetime.now(UTC) + timedelta(hours=2, minutes=30)).isoformat()
    plain = job(priority=0, not_before=None)
    double.answer("/api/jobs", {"items": [plain], "next": None})
    assert "turn" not in drover("jobs", "list")[1]
    turned = job(OTHER, put_first=3, is_scheduled=True, not_before=soon)
    double.answer("/api/jobs", {"items": [plain, turned], "next": None})
    heads, first, second = drover("jobs", "list")[1].splitlines()
    assert heads.split()[:4] == ["id", "status", "title", "turn"]
    assert "–" in first
    assert "7, first, in 2 h" in second


def test_a_job_is_shown_with_its_priority_and_its_time(double, drover):
    double.answer("/rest/v1/jobs", [job()])
    whole = {"job": job(put_first=1), "failures": [], "assignments": {"items": []}}
    double.answer(f"/api/jobs/{ID}", whole)
    shown = {line.strip() for line in drover("jobs", "show", ID)[1].splitlines()}
    assert any(line.split() == ["priority", "7,", "put", "first"] for line in shown)
    assert any(line.startswith("not before") and line.endswith("ago)") for line in shown)
