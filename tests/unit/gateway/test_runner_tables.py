"""A runner of the operations queue (002) that writes tables: tasks, task_devices and workers."""

from __future__ import annotations

import pytest

from drover.domain.fleet.commands import (
    AssignJob,
    CancelAssignment,
    CancelJob,
    CreateJob,
    DeactivateJob,
    PauseJob,
    RegisterPc,
    ResumeJob,
)
from tests.unit.gateway.office import URL, device_id, open_office

SHOW = {"Prefer": "return=representation"}
ID = "018f2b5e-0000-7000-8000-00000000000a"


@pytest.fixture
async def office():
    async with open_office(reports=True) as office:
        yield office


async def claimed(office) -> str:
    office.phones(1, 2)
    await office.job()
    await office.ask("POST", "rpc/claim_task_devices_for_pc", {"runner_pc_id": "PC-01", "max_to_claim": 2})
    return office.on(1)


@pytest.mark.req("DI-01")
async def test_a_task_is_inserted_and_runs_when_it_is_its_turn(office):
    office.phones(1)
    row = {"id": ID, "title": "Watch", "target_url": URL, "status": "pending", "created_at": "2026-01-01T00:00:00Z"}
    answer = await office.ask("POST", "tasks", row, **SHOW)
    (shown,) = await answer.json()
    assert (answer.status, shown["id"], shown["status"], shown["title"]) == (201, ID, "running", "Watch")
    assert answer.headers["Drover-Ignored"] == "created_at"
    assert isinstance(office.bus.commands[-1], CreateJob)


@pytest.mark.req("DI-01")
@pytest.mark.parametrize(
    ("status", "command"),
    [
        ("pending", PauseJob),
        ("running", ResumeJob),
        ("cancelled", CancelJob),
        ("success", DeactivateJob),
        ("completed", DeactivateJob),
        ("failed", DeactivateJob),
    ],
)
async def test_the_status_of_a_task_is_a_command_for_its_job(office, status, command):
    job_id = await office.job()
    body = {"status": status, "updated_at": "2026-01-01T00:00:00Z"}
    answer = await office.ask("PATCH", f"tasks?id=eq.{job_id}", body)
    assert (answer.status, answer.headers["Drover-Ignored"]) == (204, "updated_at")
    assert office.bus.commands[-1] == command(job_id)


@pytest.mark.req("DI-01")
async def test_a_task_that_has_completed_by_itself_may_be_called_so(office):
    await claimed(office)
    for number in (1, 2):
        path = f"task_devices?id=eq.{office.on(number)}"
        assert (await office.ask("PATCH", path, {"status": "completed"})).status == 204
    (job_id,) = office.roster.fleet.jobs
    office.bus.sent.clear()
    assert (await office.ask("PATCH", f"tasks?id=eq.{job_id}", {"status": "success"})).status == 204
    assert office.bus.sent == []
    assert (await office.ask("PATCH", f"tasks?id=eq.{job_id}", {"status": "cancelled"})).status == 409


@pytest.mark.req("DI-01")
async def test_a_row_of_task_devices_is_an_assignment_by_name(office):
    office.phones(1)
    job_id = await office.job(target={"device_ids": []})
    row = {"task_id": job_id, "device_id": device_id(1), "pc_id": "PC-01", "attempt": 1, "status": "pending"}
    answer = await office.ask("POST", "task_devices", row, **SHOW)
    (shown,) = await answer.json()
    assert (answer.status, answer.headers["Drover-Ignored"]) == (201, "pc_id, attempt")
    assert (shown["task_id"], shown["device_id"], shown["status"]) == (job_id, device_id(1), "pending")
    assert office.bus.commands[-1] == AssignJob(shown["id"], job_id, device_id(1))


@pytest.mark.req("DI-01")
async def test_a_runner_runs_and_completes_a_row_without_knowing_its_run(office):
    office.phones(1, 2)
    await office.job()
    assignment_id = office.on(1)
    path = f"task_devices?id=eq.{assignment_id}"
    body = {"status": "running", "started_at": "2026-03-02T12:00:00Z"}
    assert (await office.ask("PATCH", path, body)).status == 204
    assert office.roster.fleet.assignments[assignment_id].status == "running"
    office.bus.fleet.after(seconds=45)
    body = {"status": "completed", "completed_at": "2026-03-02T12:00:40Z", "error": None}
    answer = await office.ask("PATCH", path, body)
    assert (answer.status, answer.headers["Drover-Ignored"]) == (204, "error")
    assert office.roster.fleet.ended[assignment_id].status == "completed"
    assert office.bus.fleet.decision.events[0].actual_duration_sec == 40, "by the runner's own times"


@pytest.mark.req("DI-01", "DI-03")
async def test_a_report_is_a_sign_of_life_of_all_phones_of_the_pc(office):
    assignment_id = await claimed(office)
    office.telemetry.heard.clear()
    await office.ask("PATCH", f"task_devices?id=eq.{assignment_id}", {"status": "running"})
    assert {device_id(1), device_id(2)} <= set(office.telemetry.heard)


@pytest.mark.req("DI-01")
@pytest.mark.parametrize(
    ("body", "status", "left"),
    [
        ({"status": "failed", "error": "no screen"}, "pending", True),
        ({"status": "failed", "error": "no screen", "attempt": 3}, "failed", False),
        ({"status": "pending", "error": "no screen", "attempt": 2}, "pending", True),
    ],
)
async def test_a_runner_reports_a_failure_with_its_words(office, body, status, left):
    assignment_id = await claimed(office)
    assert (await office.ask("PATCH", f"task_devices?id=eq.{assignment_id}", body)).status == 204
    fleet = office.roster.fleet
    known = fleet.assignments[assignment_id] if left else fleet.ended[assignment_id]
    assert known.status == status
    if left:
        assert (known.failed, known.error_code, known.error_message) == (1, "TASK_DEVICE_FAILED", "no screen")


@pytest.mark.req("DI-01")
async def test_a_runner_gives_a_row_back_and_cancels_another(office):
    assignment_id = await claimed(office)
    assert (await office.ask("PATCH", f"task_devices?id=eq.{assignment_id}", {"status": "pending"})).status == 204
    assert office.roster.fleet.assignments[assignment_id].failed == 0
    other = office.on(2)
    assert (await office.ask("PATCH", f"task_devices?id=eq.{other}", {"status": "cancelled"})).status == 204
    assert office.bus.commands[-1] == CancelAssignment(other, also_running=True)
    assert office.roster.fleet.ended[other].status == "cancelled"


@pytest.mark.req("DI-01", "DI-13")
async def test_of_two_runners_that_take_a_pending_row_only_one_gets_it(office):
    office.phones(1)
    await office.job()
    assignment_id = office.on(1)
    office.pool.rows = [{"id": assignment_id, "run": 1, "status": "pending"}]
    path = f"task_devices?id=eq.{assignment_id}&status=eq.pending"
    answer = await office.ask("PATCH", path, {"status": "running"}, **SHOW)
    assert (answer.status, len(await answer.json())) == (200, 1)
    answer = await office.ask("PATCH", path, {"status": "running"}, **SHOW)
    assert (answer.status, await answer.json()) == (200, [])
    assert answer.headers["Drover-Refused"] == f"{assignment_id}=CONFLICT"


@pytest.mark.req("DI-01")
async def test_the_error_of_what_runs_can_be_recorded(office):
    assignment_id = await claimed(office)
    assert (await office.ask("PATCH", f"task_devices?id=eq.{assignment_id}", {"error": "slow"})).status == 204
    assert office.roster.fleet.assignments[assignment_id].error_message == "slow"


async def test_an_empty_body_or_a_strange_status_is_400(office):
    assignment_id = await claimed(office)
    for body in ({}, {"status": "done"}, {"colour": "red"}):
        assert (await office.ask("PATCH", f"task_devices?id=eq.{assignment_id}", body)).status == 400


@pytest.mark.req("DI-01")
async def test_a_worker_is_registered_changed_and_heard(office):
    answer = await office.ask("POST", "workers", {"id": "PC-01", "device_capacity": 5}, **SHOW)
    assert (answer.status, (await answer.json())[0]["max_devices"]) == (201, 5)
    office.phones(1, 2)
    answer = await office.ask("PATCH", "workers?id=eq.PC-01", {"max_devices": 7})
    assert (answer.status, office.bus.commands[-1]) == (204, RegisterPc("PC-01", 7))
    office.telemetry.heard.clear()
    sent = len(office.bus.sent)
    for column in ("last_heartbeat", "last_seen_at", "updated_at", "status"):
        answer = await office.ask("PATCH", "workers?pc_id=eq.PC-01", {column: "online"})
        assert (answer.status, "Drover-Ignored" in answer.headers) == (204, False)
    assert office.telemetry.heard == [device_id(1), device_id(2)] * 4
    assert len(office.bus.sent) == sent


@pytest.mark.req("DI-01")
async def test_an_upsert_of_a_worker_keeps_the_capacity_that_it_does_not_tell(office):
    await office.ask("POST", "workers", {"id": "PC-01", "device_capacity": 5})
    answer = await office.ask(
        "POST", "workers?on_conflict=id", {"id": "PC-01", "status": "online"}, Prefer="resolution=merge-duplicates"
    )
    assert answer.status == 201
    assert office.roster.fleet.pcs["PC-01"].capacity == 5


@pytest.mark.parametrize("capacity", [0, -1, 21])
async def test_a_worker_has_one_to_twenty_slots(office, capacity):
    office.phones(1)
    for method, path in (("POST", "workers"), ("PATCH", "workers?id=eq.PC-01")):
        body = {"device_capacity": capacity} | ({"id": "PC-01"} if method == "POST" else {})
        answer = await office.ask(method, path, body)
        assert (answer.status, (await answer.json())["details"]["value"]) == (400, capacity)
    assert office.roster.fleet.pcs["PC-01"].capacity == 20


async def test_one_write_of_many_rows_is_one_sign_of_life_of_each_phone(office):
    office.phones(1, 2, 3)
    await office.job()
    rows = await (
        await office.ask("POST", "rpc/claim_task_devices_for_pc", {"runner_pc_id": "PC-01", "max_to_claim": 3})
    ).json()
    office.telemetry.heard.clear()
    ids = ",".join(row["id"] for row in rows)
    assert (await office.ask("PATCH", f"task_devices?id=in.({ids})", {"status": "cancelled"})).status == 204
    assert sorted(office.telemetry.heard) == [device_id(1), device_id(2), device_id(3)]


async def test_a_worker_that_nobody_knows_is_404(office):
    assert (await office.ask("PATCH", "workers?id=eq.PC-09", {"status": "online"})).status == 404
    answer = await office.ask("PATCH", "workers?id=eq.PC-01", {"max_devices": 3, "device_capacity": 4})
    assert answer.status == 400


async def test_the_key_in_every_phone_is_no_runner(office):
    assignment_id = await claimed(office)
    for path in (f"task_devices?id=eq.{assignment_id}", "workers?id=eq.PC-01", f"tasks?id=eq.{ID}"):
        assert (await office.ask("PATCH", path, {"status": "pending"}, key=office.anon)).status == 403
