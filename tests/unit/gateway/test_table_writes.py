"""Writes of rows by filters, as in PostgREST: which rows, which answer, and what is told about the rest."""

from __future__ import annotations

import pytest

from drover.bus.messages import Rejected
from drover.domain.errors import Code
from drover.domain.fleet.commands import CancelJob, PauseJob
from tests.unit.gateway.office import URL, device_id, open_office

SHOW = {"Prefer": "return=representation"}
OBJECT = {"Accept": "application/vnd.pgrst.object+json"}
NOBODY = "018f2b5e-0000-7000-8000-00000000ffff"


@pytest.fixture
async def office():
    async with open_office() as office:
        yield office


async def two_jobs(office) -> tuple[str, str]:
    jobs = await office.job(title="first"), await office.job(title="second")
    office.pool.rows = [{"id": job_id} for job_id in jobs]
    office.bus.sent.clear()
    return jobs


@pytest.mark.req("DI-14")
async def test_a_patch_takes_the_filters_of_a_read_and_answers_with_the_rows_that_changed(office):
    jobs = await two_jobs(office)
    path = "jobs?status=in.(created,active)&or=(title.eq.first,title.eq.second)&select=id,status"
    answer = await office.ask("PATCH", path, {"status": "paused"}, **SHOW)
    assert (answer.status, await answer.json()) == (200, [{"id": job_id, "status": "paused"} for job_id in jobs])
    assert office.bus.commands == [PauseJob(job_id) for job_id in jobs]
    ((sql, *_),) = office.pool.asked
    assert '"title"' in sql and '"status"' in sql


@pytest.mark.req("DI-14")
async def test_without_a_representation_it_is_204(office):
    await two_jobs(office)
    answer = await office.ask("PATCH", "jobs?title=like.*s*", {"status": "paused"})
    assert (answer.status, await answer.read(), answer.headers["Drover-Position"]) == (204, b"", "fleet=4")


@pytest.mark.req("DI-13", "DI-14")
async def test_filters_that_match_nothing_are_no_error(office):
    await two_jobs(office)
    office.pool.rows = []
    answer = await office.ask("PATCH", "jobs?title=eq.x", {"status": "paused"}, **SHOW)
    assert (answer.status, await answer.json()) == (200, [])
    assert (await office.ask("PATCH", "jobs?title=eq.x", {"status": "paused"})).status == 204
    answer = await office.ask("PATCH", "jobs?title=eq.x", {"status": "paused"}, **SHOW, **OBJECT)
    assert (answer.status, (await answer.json())["code"]) == (406, "PGRST116")
    assert office.bus.sent == []


@pytest.mark.req("DI-13")
async def test_the_key_with_another_filter_is_a_condition_and_not_a_404(office):
    await two_jobs(office)
    office.pool.rows = []
    answer = await office.ask("PATCH", f"jobs?id=eq.{NOBODY}&status=eq.active", {"status": "paused"}, **SHOW)
    assert (answer.status, await answer.json()) == (200, [])
    assert (await office.ask("PATCH", f"jobs?id=eq.{NOBODY}", {"status": "paused"})).status == 404


async def test_an_object_of_two_rows_is_refused_before_anything_is_changed(office):
    await two_jobs(office)
    answer = await office.ask("PATCH", "jobs?title=like.*s*", {"status": "paused"}, **SHOW, **OBJECT)
    assert (answer.status, (await answer.json())["details"]) == (406, "The result contains 2 rows")
    assert office.bus.sent == []


@pytest.mark.req("DI-14")
async def test_rows_that_have_moved_on_are_left_out_and_named(office):
    first, second = await two_jobs(office)
    office.bus.do(CancelJob(first))  # the read model does not know yet
    answer = await office.ask("PATCH", "jobs?status=eq.active&select=id", {"status": "paused"}, **SHOW)
    assert (answer.status, await answer.json()) == (200, [{"id": second}])
    assert answer.headers["Drover-Refused"] == f"{first}=CONFLICT"


@pytest.mark.req("DI-14")
async def test_more_than_1000_rows_are_400_before_any(office):
    await two_jobs(office)
    office.pool.total = 1001
    answer = await office.ask("PATCH", "jobs?status=eq.active", {"status": "paused"})
    assert (answer.status, (await answer.json())["details"]) == (400, {"field": "filter", "value": 1001})
    assert office.bus.sent == []
    office.pool.total = 1000
    assert (await office.ask("PATCH", "jobs?status=eq.active", {"status": "paused"})).status == 204


async def test_the_oldest_few_can_be_chosen_by_order_and_limit(office):
    jobs = await two_jobs(office)
    office.pool.rows, office.pool.total = [{"id": jobs[0]}], 5000
    path = "jobs?status=eq.active&order=created_at.asc&limit=1&select=id"
    answer = await office.ask("PATCH", path, {"status": "paused"}, **SHOW)
    assert await answer.json() == [{"id": jobs[0]}]
    ((sql, *parameters),) = office.pool.asked
    assert "ORDER BY" in sql and 1 in parameters


async def test_a_writer_that_is_away_is_told_as_such(office):
    await two_jobs(office)
    office.bus.answer = Rejected(Code.UNAVAILABLE, "no")
    assert (await office.ask("PATCH", "jobs?status=eq.active", {"status": "paused"})).status == 503


async def test_the_key_alone_needs_no_read_model(office):
    first, _ = await two_jobs(office)
    office.pool.rows = None
    assert (await office.ask("PATCH", f"jobs?id=eq.{first}", {"status": "paused"})).status == 204
    assert office.pool.asked == []
    assert (await office.ask("PATCH", "jobs?status=eq.active", {"status": "paused"})).status == 503


async def test_who_may_not_read_a_relation_cannot_probe_it_by_filters(office):
    office.phones(1)
    await office.job()
    assignment_id = office.on(1)
    path = f"job_assignments?id=eq.{assignment_id}&status=eq.pending"
    office.pool.rows = [{"id": assignment_id, "run": 1}]
    assert (await office.ask("PATCH", path, {"status": "running"}, key=office.anon)).status == 204
    ((_, report, rest),) = office.reports.taken
    assert (report.run, rest["read_run"]) == (None, 1), "the run that the filters matched"


@pytest.mark.req("DI-19")
async def test_columns_without_a_meaning_are_passed_over_and_named(office):
    row = {"target_url": URL, "status": "active", "created_at": "2026-01-01T00:00:00Z"}
    answer = await office.ask("POST", "jobs", row)
    assert (answer.status, answer.headers["Drover-Ignored"]) == (201, "status, created_at")
    office.phones(1)
    body = {"status": "cancelled", "progress_pct": 3, "completed_at": "2026-01-01T00:00:00Z", "reason": "me"}
    answer = await office.ask("PATCH", f"job_assignments?id=eq.{office.on(1)}", body)
    assert (answer.status, answer.headers["Drover-Ignored"]) == (204, "reason, progress_pct, completed_at")


async def test_a_column_that_the_relation_lacks_is_refused_by_its_name(office):
    answer = await office.ask("POST", "jobs", [{"target_url": URL}, {"target_url": URL, "colour": "red"}])
    body = await answer.json()
    assert (answer.status, body["code"], body["details"]) == (400, "PGRST204", {"field": "[1].colour"})
    assert body["message"] == "Could not find the 'colour' column of 'jobs' in the schema cache"
    assert office.bus.sent == []


async def test_a_body_in_which_nothing_can_be_written_is_refused(office):
    first, _ = await two_jobs(office)
    answer = await office.ask("PATCH", f"jobs?id=eq.{first}", {"title": "x", "created_at": None})
    body = await answer.json()
    assert (answer.status, body["message"]) == (400, "title, created_at cannot be written here")
    assert office.bus.sent == []


async def test_a_column_that_a_caller_may_not_write_is_403(office):
    office.phones(1)
    answer = await office.ask("PATCH", f"pcs?id=eq.{device_id(1)}", {"capacity": 3}, key=office.anon)
    assert answer.status == 403


@pytest.mark.req("DI-07")
async def test_a_patch_with_filters_waits_for_every_earlier_write_or_says_that_it_may_lack_some(office, monkeypatch):
    await two_jobs(office)
    answer = await office.ask("PATCH", "jobs?title=eq.first", {"status": "paused"})
    assert (answer.status, answer.headers.get("Drover-Behind")) == (204, None)

    async def never(place, seq, timeout_s):
        return False

    monkeypatch.setattr(office.positions, "wait", never)
    office.newest.observe("fleet", 77)
    answer = await office.ask("PATCH", "jobs?title=eq.first", {"status": "active"})
    assert (answer.status, answer.headers["Drover-Behind"]) == (204, "fleet=77")


@pytest.mark.req("DI-07")
@pytest.mark.parametrize(
    ("path", "change"), [("pcs?id=eq.PC-77", {"capacity": 5}), ("workers?pc_id=eq.PC-77", {"device_capacity": 5})]
)
async def test_a_patch_finds_a_pc_that_another_process_has_just_registered(office, path, change):
    assert (await office.ask("PATCH", path, change)).status == 404
    office.newest.observe("fleet", 77)
    office.roster_at.meanwhile = lambda: office.phones(1, pc="PC-77")
    assert (await office.ask("PATCH", path, change)).status == 204


@pytest.mark.req("DI-07")
async def test_a_sign_of_life_of_a_known_worker_does_not_wait(office):
    office.phones(1)
    office.newest.observe("fleet", 77)
    answer = await office.ask("PATCH", "workers?pc_id=eq.PC-01", {"status": "online"})
    assert (answer.status, office.roster_at.waits) == (204, [])
    assert office.telemetry.heard == [device_id(1)]
