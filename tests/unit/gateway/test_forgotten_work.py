"""Commands about work that ended so long ago that the writer has forgotten it: the read model tells how it ended."""

import pytest

from drover.domain.fleet.commands import CancelJob, FireOverdue, ReportCompleted, ReportFailed
from tests.unit.gateway.office import device_id, open_office

pytestmark = pytest.mark.req("YR-10")

DONE = {"status": "completed", "progress_pct": 100, "actual_duration_sec": 60}
NOBODY = "018f2b5e-0000-7000-8000-00000000ffff"
CREATED = "2026-03-02T12:00:00+00:00"


@pytest.fixture
async def office():
    async with open_office(reports=True) as office:
        office.phones(1)
        yield office


async def ended(office, *, as_="completed"):
    """Let a job end, and its writer forget it. Return the ids of job and assignment."""
    job_id = await office.job()
    assignment_id = office.start(1)
    if as_ == "completed":
        office.bus.do(ReportCompleted(assignment_id, 1, progress_pct=100, actual_duration_sec=60))
    office.bus.do(CancelJob(job_id))
    office.bus.fleet.after(hours=25)
    office.bus.do(FireOverdue())
    office.bus.fleet.after(hours=25)
    office.bus.do(FireOverdue())
    assert job_id not in office.bus.fleet.state.jobs
    return job_id, assignment_id


def assignment_row(job_id, assignment_id, *, status="completed", run=1, device=1):
    return {
        "id": assignment_id,
        "job_id": job_id,
        "device_id": device_id(device),
        "status": status,
        "run": run,
        "retry_count": 0,
        "created_at": CREATED,
    }


def job_row(job_id, *, status="completed"):
    return {
        "id": job_id,
        "target_url": "https://youtu.be/abc",
        "status": status,
        "created_at": "2026-03-01T12:00:00+00:00",
        "updated_at": CREATED,
        "ended_at": CREATED,
        "completed": 1,
        "failed": 0,
    }


async def told(answer):
    body = await answer.json()
    return answer.status, body["code"], body["message"]


@pytest.mark.parametrize("path", ["job_assignments", "task_devices"])
async def test_a_late_report_gets_the_same_answer_as_before(office, path):
    row = assignment_row(*await ended(office))
    office.pool.rows = [row]
    answer = await office.ask("PATCH", f"{path}?id=eq.{row['id']}", DONE)
    assert await told(answer) == (409, "CONFLICT", "Assignment already completed")


async def test_a_late_report_of_another_run_is_stale(office):
    row = assignment_row(*await ended(office), run=2)
    office.pool.rows = [row]
    answer = await office.ask("PATCH", f"job_assignments?id=eq.{row['id']}", DONE | {"run": 1})
    assert await told(answer) == (409, "STALE_ATTEMPT", "Run 1 of this assignment is over")


async def test_a_runners_function_gets_the_same_answer(office):
    row = assignment_row(*await ended(office), status="failed")
    office.pool.rows = [row]
    answer = await office.ask("POST", "rpc/complete_task_device", {"task_device_id": row["id"]})
    assert await told(answer) == (409, "CONFLICT", "Assignment already failed")


async def test_without_postgres_a_late_report_is_409_so_that_the_phone_does_not_repeat_it(office):
    _, assignment_id = await ended(office)
    office.pool.rows = None
    answer = await office.ask("PATCH", f"job_assignments?id=eq.{assignment_id}", DONE)
    assert (await told(answer))[:2] == (409, "ENDED_LONG_AGO")


async def test_a_read_model_that_is_late_says_409_too(office):
    row = assignment_row(*await ended(office), status="running")
    office.pool.rows = [row]
    answer = await office.ask("PATCH", f"job_assignments?id=eq.{row['id']}", DONE)
    assert (await told(answer))[:2] == (409, "ENDED_LONG_AGO")


async def test_what_never_was_is_404(office):
    office.pool.rows = []
    answer = await office.ask("PATCH", f"job_assignments?id=eq.{NOBODY}", DONE)
    assert (await told(answer))[:2] == (404, "NOT_FOUND")


async def test_the_read_model_is_not_asked_about_work_that_is_known(office):
    await office.job()
    office.start(1)
    asked = len(office.pool.asked)
    assert (await office.ask("PATCH", f"job_assignments?id=eq.{office.on(1)}", DONE)).status == 204
    assert len(office.pool.asked) == asked


@pytest.mark.parametrize(("status", "answered"), [("cancelled", 204), ("completed", 409)])
async def test_cancelling_an_old_assignment_is_as_before(office, status, answered):
    row = assignment_row(*await ended(office), status=status)
    office.pool.rows = [row]
    answer = await office.ask("PATCH", f"job_assignments?id=eq.{row['id']}", {"status": "cancelled"})
    assert answer.status == answered


@pytest.mark.parametrize(
    ("status", "change", "answered", "message"),
    [
        ("completed", {"status": "paused"}, 409, "Job already completed"),
        ("completed", {"status": "active"}, 409, "Job already completed"),
        ("completed", {"status": "cancelled"}, 409, "Job already completed"),
        ("cancelled", {"status": "cancelled"}, 204, None),
        ("deactivated", {"is_active": False}, 204, None),
        ("deactivated", {"is_active": True}, 409, "The job is older than 24 hours; create it again"),
    ],
)
async def test_what_a_person_does_with_an_old_job_is_answered_as_before(office, status, change, answered, message):
    job_id, _ = await ended(office)
    office.pool.rows = [job_row(job_id, status=status)]
    answer = await office.ask("PATCH", f"jobs?id=eq.{job_id}", change)
    assert answer.status == answered
    if message is not None:
        assert (await told(answer))[1:] == ("CONFLICT", message)


async def test_a_deactivated_job_that_was_forgotten_early_cannot_be_opened_again_and_says_so(office):
    job_id, _ = await ended(office)
    now = office.bus.fleet.now.isoformat()
    office.pool.rows = [job_row(job_id, status="deactivated") | {"created_at": now}]
    answer = await office.ask("PATCH", f"jobs?id=eq.{job_id}", {"is_active": True})
    status, code, message = await told(answer)
    assert (status, code) == (409, "ENDED_LONG_AGO")
    assert message.endswith("create a new one")


async def test_a_task_that_has_long_ended_as_wanted_needs_nothing(office):
    job_id, _ = await ended(office)
    office.pool.rows = [job_row(job_id)]
    assert (await office.ask("PATCH", f"tasks?id=eq.{job_id}", {"status": "success"})).status == 204
    assert (await office.ask("PATCH", f"tasks?id=eq.{job_id}", {"status": "cancelled"})).status == 409


async def test_why_tells_how_old_work_ended(office):
    job_id, assignment_id = await ended(office)
    office.pool.rows = [job_row(job_id)]
    body = await (await office.ask("GET", f"rpc/why?job_id={job_id}")).json()
    assert body["status"] == "completed"
    assert body["reasons"][0]["sentence"].startswith(f"Job {job_id} completed at ")
    office.pool.rows = [assignment_row(job_id, assignment_id)]
    body = await (await office.ask("GET", f"rpc/why?assignment_id={assignment_id}")).json()
    assert body["reasons"][0]["sentence"] == f"Assignment {assignment_id} completed on attempt 1."


async def test_why_of_old_work_without_postgres_says_that_it_cannot_know(office):
    job_id, _ = await ended(office)
    office.pool.rows = None
    assert (await office.ask("GET", f"rpc/why?job_id={job_id}")).status == 503


@pytest.mark.parametrize("path", ["jobs", "tasks", "job_assignments", "task_devices"])
async def test_the_id_of_forgotten_work_is_not_given_again(office, path):
    """Its rows would be replaced."""
    job_id = await office.job()
    bodies = {
        "jobs": {"target_url": "https://youtu.be/abc"},
        "tasks": {"target_url": "https://youtu.be/abc"},
        "job_assignments": {"job_id": job_id, "device_id": device_id(1)},
        "task_devices": {"task_id": job_id, "device_id": device_id(1)},
    }
    office.pool.rows = [{"id": NOBODY, "ended_at": "2026-02-01T00:00:00Z"}]
    answer = await office.ask("POST", path, bodies[path] | {"id": NOBODY})
    assert (await told(answer))[:2] == (409, "23505")
    office.pool.rows = None
    answer = await office.ask("POST", path, bodies[path] | {"id": NOBODY})
    assert answer.status == 201, "without Postgres work goes on"


@pytest.mark.req("DF-20")
async def test_a_failed_assignment_that_is_known_is_pending_again_under_its_id(office):
    office.phones(2)
    job_id = await office.job()
    assignment_id = office.start(1)
    office.bus.do(ReportFailed(assignment_id, 1, error_code="VIDEO_AGE_RESTRICTED"))
    office.pool.rows = [{"id": assignment_id}]
    row = {"id": assignment_id, "job_id": job_id, "device_id": device_id(1)}
    assert (await office.ask("POST", "job_assignments", row)).status == 201
