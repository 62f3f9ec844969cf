"""Functions: claiming, failing and timing out as the operations queue calls it, and why something waits."""

from __future__ import annotations

import time
from uuid import UUID

import pytest

from drover.bus.messages import Rejected
from drover.domain.errors import Code
from drover.domain.fleet.commands import ClaimForPc, FireOverdue, ReportFailed
from drover.readmodel.models import RELATIONS
from drover.service.api_keys import Role, issue_api_key
from tests.unit.gateway.office import SECRET, device_id, open_office

NOBODY = "018f2b5e-0000-7000-8000-00000000ffff"
CLAIM = "rpc/claim_task_devices_for_pc"
COMPLETE = "rpc/complete_task_device"
FAIL = "rpc/fail_or_retry_task_device"
TIMEOUT = "rpc/fn_timeout_tasks_and_task_devices"


@pytest.fixture
async def office():
    async with open_office() as office:
        yield office


def bound_to(number: int) -> dict[str, str]:
    return {"apikey": issue_api_key(SECRET, Role.DEVICE, now_s=time.time(), device_id=UUID(device_id(number)))}


# Claiming


@pytest.mark.req("OQ-05")
async def test_a_pc_claims_what_waits_for_its_phones_and_no_more_than_it_asks_for(office):
    office.phones(1, 2, 3)
    office.phones(4, pc="PC-02")
    job_id = await office.job()
    claimed = []
    for most, expected in ((2, 2), (5, 1), (5, 0)):
        answer = await office.ask("POST", CLAIM, {"runner_pc_id": "PC-01", "max_to_claim": most})
        rows = await answer.json()
        assert (answer.status, len(rows)) == (200, expected)
        claimed += rows
    assert {row["device_id"] for row in claimed} == {device_id(1), device_id(2), device_id(3)}
    for row in claimed:
        assert row.keys() == RELATIONS["task_devices"].columns.keys()
        assert (row["status"], row["task_id"], row["pc_id"], row["run"]) == ("running", job_id, "PC-01", 1)
        assert (row["attempt"], row["max_attempts"], row["error"]) == (1, 3, None)
        assert row["timeout_at"] == "2026-03-02T12:20:00Z"


async def test_a_claim_is_a_command_with_the_clients_key(office):
    office.phones(1)
    for _ in range(2):
        await office.ask("POST", CLAIM, {"runner_pc_id": "PC-01", "max_to_claim": 1}, **{"Idempotency-Key": "k"})
    first, second = office.bus.sent
    assert first["command"] == ClaimForPc("PC-01", 1)
    assert first["id"] == second["id"]


async def test_what_was_claimed_is_told_even_if_the_roster_is_late(office):
    office.phones(1)
    await office.job()
    assignment_id = office.on(1)
    office.bus.roster_hears = False
    answer = await office.ask("POST", CLAIM, {"runner_pc_id": "PC-01", "max_to_claim": 1})
    (row,) = await answer.json()
    assert (row["id"], row["status"], row["run"]) == (assignment_id, "running", 1)


async def test_a_pc_that_nobody_knows_is_404(office):
    answer = await office.ask("POST", CLAIM, {"runner_pc_id": "PC-09", "max_to_claim": 1})
    assert (answer.status, (await answer.json())["code"]) == (404, "NOT_FOUND")


@pytest.mark.req("DI-02")
@pytest.mark.parametrize("name", ["runner_pc_id", "runner_pc_name", "p_runner_pc_id", "p_runner_pc_name"])
async def test_a_pc_is_named_in_any_way_and_claims_one_row_unless_it_says_more(office, name):
    office.phones(1, 2)
    await office.job()
    answer = await office.ask("POST", CLAIM, {name: "PC-01"})
    assert (answer.status, len(await answer.json())) == (200, 1)
    assert office.bus.commands[-1] == ClaimForPc("PC-01", 1)


@pytest.mark.req("DI-03")
async def test_a_claim_and_a_report_are_signs_of_life_of_all_phones_of_the_pc(office):
    office.phones(1, 2)
    office.phones(3, pc="PC-02")
    await office.job()
    await office.ask("POST", CLAIM, {"runner_pc_id": "PC-01", "max_to_claim": 2})
    assert office.telemetry.heard == [device_id(1), device_id(2)]
    await office.ask("POST", COMPLETE, {"task_device_id": office.on(1)})
    assert office.telemetry.heard == [device_id(1), device_id(2)] * 2


# Completing


@pytest.mark.req("DI-02")
@pytest.mark.parametrize("prefix", ["", "p_"])
async def test_a_claimed_row_is_completed_with_the_time_since_its_start(office, prefix):
    office.phones(1, 2)
    await office.job()
    await office.ask("POST", CLAIM, {"runner_pc_id": "PC-01", "max_to_claim": 1})
    assignment_id = next(iter(office.roster.fleet.assignments))
    office.bus.fleet.after(seconds=75)
    answer = await office.ask("POST", COMPLETE, {f"{prefix}task_device_id": assignment_id})
    row = await answer.json()
    assert (answer.status, row["id"], row["status"], row["error"]) == (200, assignment_id, "completed", None)
    assert row.keys() == RELATIONS["task_devices"].columns.keys()
    again = await office.ask("POST", COMPLETE, {f"{prefix}task_device_id": assignment_id})
    assert (again.status, (await again.json())["message"]) == (409, "Assignment already completed")


# Failing


async def test_two_names_of_a_pc_must_agree(office):
    office.phones(1)
    path = "rpc/claim_task_devices_for_pc"
    answer = await office.ask("POST", path, {"runner_pc_id": "PC-01", "runner_pc_name": "PC-01"})
    assert answer.status == 200
    answer = await office.ask("POST", path, {"runner_pc_id": "PC-01", "runner_pc_name": "PC-02"})
    assert (answer.status, (await answer.json())["message"]) == (
        400,
        "runner_pc_id and runner_pc_name contradict each other",
    )


@pytest.mark.req("OQ-07")
async def test_a_failure_is_retried_while_attempts_remain_and_then_final(office):
    office.phones(1)
    await office.job()
    assignment_id = office.on(1)
    for attempt, status in ((1, "pending"), (2, "pending"), (3, "failed")):
        await office.ask("POST", CLAIM, {"runner_pc_id": "PC-01", "max_to_claim": 1})
        answer = await office.ask("POST", FAIL, {"task_device_id": assignment_id, "error": f"no {attempt}"})
        row = await answer.json()
        assert (answer.status, row["id"], row["status"], row["error"]) == (200, assignment_id, status, f"no {attempt}")
        assert row.keys() == RELATIONS["task_devices"].columns.keys()
        assert row["error_code"] == "TASK_DEVICE_FAILED"
        office.bus.fleet.after(seconds=30)
        office.bus.do(FireOverdue())
    assert row["attempt"] == row["max_attempts"] == 3
    assert answer.headers["Drover-Position"].startswith("fleet=")


@pytest.mark.req("OQ-07")
async def test_without_a_run_the_current_one_failed(office):
    office.phones(1)
    await office.job()
    await office.ask("POST", CLAIM, {"runner_pc_id": "PC-01", "max_to_claim": 1})
    answer = await office.ask("POST", FAIL, {"task_device_id": office.on(1)})
    assert (answer.status, (await answer.json())["status"]) == (200, "pending")
    assert office.bus.commands[-1] == ReportFailed(office.on(1), error_code="TASK_DEVICE_FAILED")


async def test_a_caller_that_knows_its_run_is_fenced_by_it(office):
    office.phones(1)
    await office.job()
    office.start(1)
    answer = await office.ask("POST", FAIL, {"task_device_id": office.on(1), "run": 0})
    assert (answer.status, (await answer.json())["code"]) == (409, "STALE_ATTEMPT")


async def test_a_long_error_is_cut(office):
    office.phones(1)
    await office.job()
    office.start(1)
    await office.ask("POST", FAIL, {"task_device_id": office.on(1), "error": "x" * 5000})
    assert len(office.bus.commands[-1].error_message) == 4000


async def test_what_has_ended_or_is_unknown_cannot_fail(office):
    office.pool.rows = []
    office.phones(1, 2)
    await office.job()
    assignment_id = office.start(1)
    office.bus.do(ReportFailed(assignment_id, error_code="VIDEO_AGE_RESTRICTED"))
    answer = await office.ask("POST", FAIL, {"task_device_id": assignment_id})
    assert (answer.status, (await answer.json())["message"]) == (409, "Assignment already failed")
    answer = await office.ask("POST", FAIL, {"task_device_id": NOBODY})
    assert (answer.status, (await answer.json())["message"]) == (404, "Assignment not found")


# Timing out


@pytest.mark.req("OQ-12")
async def test_what_is_overdue_is_fired_and_counted(office):
    office.phones(1, 2, 3)
    await office.job()
    office.start(1)
    office.start(2)
    assert await (await office.ask("POST", TIMEOUT, {})).json() == {"timed_out": 0}
    office.bus.fleet.after(minutes=20)
    answer = await office.ask("POST", TIMEOUT)  # without a body at all
    assert (answer.status, await answer.json()) == (200, {"timed_out": 2})
    assert office.bus.commands[-1] == FireOverdue()
    assert await (await office.ask("POST", TIMEOUT, {})).json() == {"timed_out": 0}


# Asking why


async def test_why_answers_a_post_and_a_get_alike(office):
    office.phones(1)
    job_id = await office.job(target={"group_id": "P9-G9"})
    posted = await office.ask("POST", "rpc/why", {"job_id": job_id})
    got = await office.ask("GET", f"rpc/why?job_id={job_id.upper()}")
    assert (posted.status, got.status) == (200, 200)
    body = await posted.json()
    assert body == await got.json()
    assert (body["about"], body["id"], body["status"]) == ("job", job_id, "created")
    (reason,) = body["reasons"]
    assert reason["sentence"] == f"No device matches the target of job {job_id}: group P9-G9."
    assert reason["data"]["code"] == "no_device_in_target"
    assert len(office.bus.sent) == 1, "only the job: asking is not a command"


async def test_why_knows_assignments_and_devices(office):
    office.phones(1)
    await office.job()
    answer = await office.ask("GET", f"rpc/why?assignment_id={office.on(1)}")
    assert (await answer.json())["reasons"][0]["data"]["code"] == "offer_not_fetched"
    answer = await office.ask("GET", f"rpc/why?device_id={device_id(1)}")
    assert (await answer.json())["reasons"][0]["data"]["phase"] == "offered"


@pytest.mark.parametrize("name", ["assignment_id", "job_id", "device_id"])
async def test_why_of_something_unknown_is_404_or_503_while_the_roster_is_read(office, name):
    office.pool.rows = []
    answer = await office.ask("GET", f"rpc/why?{name}={NOBODY}")
    body = await answer.json()
    assert (answer.status, body["code"], body["details"]) == (404, "NOT_FOUND", {name: NOBODY})
    office.roster.complete = False
    assert (await office.ask("GET", f"rpc/why?{name}={NOBODY}")).status == 503


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "job_id"),
        (f"job_id={NOBODY}&device_id={NOBODY}", "job_id"),
        ("job_id=x", "job_id"),
        ("job_id=", "job_id"),
        (f"job_id={NOBODY}&job_id={NOBODY}", "job_id"),
        (f"task_id={NOBODY}", "task_id"),
    ],
)
async def test_why_takes_exactly_one_id(office, query, field):
    answer = await office.ask("GET", f"rpc/why?{query}")
    body = await answer.json()
    assert (answer.status, body["code"], body["details"]["field"]) == (400, "VALIDATION_ERROR", field)


async def test_why_waits_for_a_position_that_the_caller_knows_of(office):
    office.phones(1)
    await office.ask("GET", f"rpc/why?device_id={device_id(1)}", **{"Drover-Min-Position": "fleet=2"})
    assert office.roster_at.waits == [("fleet", 2, 2.0)]


async def test_a_key_that_is_bound_to_a_device_asks_about_that_one_only(office):
    office.phones(1, 2)
    job_id = await office.job()
    for number, status in ((1, 200), (2, 403)):
        for query in (f"device_id={device_id(number)}", f"assignment_id={office.on(number)}"):
            assert (await office.ask("GET", f"rpc/why?{query}", key=bound_to(1))).status == status, query
    assert (await office.ask("GET", f"rpc/why?job_id={job_id}", key=bound_to(1))).status == 403


# All of them


@pytest.mark.parametrize("function", [CLAIM, FAIL, TIMEOUT, "rpc/why"])
async def test_functions_are_not_for_the_key_in_every_phone(office, function):
    assert (await office.ask("POST", function, {}, key=office.anon)).status == 403
    assert (await office.ask("POST", function, {}, key={})).status == 401
    assert office.bus.sent == []


async def test_a_function_that_nobody_knows_is_404(office):
    for method in ("GET", "POST"):
        answer = await office.ask(method, "rpc/nope")
        assert (answer.status, (await answer.json())["code"]) == (404, "PGRST202")


@pytest.mark.parametrize("function", [CLAIM, FAIL, TIMEOUT])
async def test_what_changes_something_does_not_happen_by_a_get(office, function):
    answer = await office.ask("GET", function)
    assert (answer.status, answer.headers["Allow"]) == (405, "POST")
    assert office.bus.sent == []


@pytest.mark.parametrize(
    ("function", "body", "field"),
    [
        (CLAIM, {}, "runner_pc_id"),
        (CLAIM, {"runner_pc_id": "PC-01", "runner_pc_name": "PC-02"}, "runner_pc_id"),
        (CLAIM, {"runner_pc_id": "PC-01", "p_runner_pc_id": "PC-01"}, "runner_pc_id"),
        (CLAIM, {"runner_pc_id": "PC-01", "max_to_claim": "5"}, "max_to_claim"),
        (CLAIM, {"runner_pc_id": "PC-01", "max_to_claim": -1}, "max_to_claim"),
        (CLAIM, {"runner_pc_id": "PC-01", "max_to_claim": 2**62}, "max_to_claim"),
        (CLAIM, {"runner_pc_id": "PC-01", "max_to_claim": 1, "x": 1}, "x"),
        (FAIL, {"task_device_id": "x"}, "task_device_id"),
        (FAIL, {"task_device_id": NOBODY, "error": 1}, "error"),
        (TIMEOUT, {"now": "x"}, "now"),
        ("rpc/why", {"job_id": 1}, "job_id"),
        ("rpc/why", {}, "job_id"),
    ],
)
async def test_a_bad_argument_is_400_by_name(office, function, body, field):
    answer = await office.ask("POST", function, body)
    told = await answer.json()
    assert (answer.status, told["code"], told["details"]["field"]) == (400, "VALIDATION_ERROR", field)
    assert office.bus.sent == []


async def test_an_answer_that_cannot_be_shown_is_not_worked_for(office):
    answer = await office.ask("POST", CLAIM, {"runner_pc_id": "PC-01", "max_to_claim": 1}, Accept="text/csv")
    assert (answer.status, (await answer.json())["code"]) == (406, "PGRST107")
    assert office.bus.sent == []


@pytest.mark.parametrize(("code", "status"), [(Code.OVERLOADED, 503), (Code.UNAVAILABLE, 503), (Code.INTERNAL, 500)])
async def test_refusals_of_the_writer_become_http(office, code, status):
    office.bus.answer = Rejected(code, "no")
    for function, body in (
        (CLAIM, {"runner_pc_id": "PC-01", "max_to_claim": 1}),
        (FAIL, {"task_device_id": NOBODY}),
        (TIMEOUT, {}),
    ):
        assert (await office.ask("POST", function, body)).status == status
