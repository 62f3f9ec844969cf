"""A render worker of the users' own at the edge: it claims and reports by PATCH of `render_queue` (003 §3)."""

from __future__ import annotations

import pytest

from drover.domain.render import commands as c
from drover.domain.render.fence import RowFence
from drover.domain.render.state import Status
from drover.testing.scenario import NOON
from tests.unit.domain.render.world import at
from tests.unit.gateway.render_office import SHOW, RenderOffice, open_render_office

ME, OTHER = "3f0c4f0e-0000-4000-8000-000000000001", "9a1b2c3d-0000-4000-8000-000000000002"
LEASE = at(minutes=30).isoformat()
CLAIM = {"status": "preparing", "worker_id": ME, "lock_expires_at": LEASE}


@pytest.fixture
async def office():
    async with open_render_office() as office:
        office.bus.scenario.now = NOON
        await office.request()
        yield office


def row_of(office: RenderOffice, render_id: int = 1, **other):
    """The row as the read model has it: up to date, except for what a test says."""
    render = office.render(render_id)
    lease = None if render.lease_until is None else render.lease_until.isoformat()
    row = {"id": render_id, "run": render.run, "status": render.status, "gfx_data": None}
    return row | {"worker_id": render.worker_id, "lock_expires_at": lease} | other


async def patch(office: RenderOffice, filters: str, body, **headers):
    return await office.ask("PATCH", f"render_queue?{filters}", body, **headers)


async def claim(office: RenderOffice, worker: str = ME):
    office.pool.rows = [row_of(office)]
    return await patch(office, "id=eq.1&status=eq.pending", CLAIM | {"worker_id": worker}, **SHOW)


# Claiming


@pytest.mark.req("DI-13")
async def test_a_conditional_patch_claims_and_answers_the_row(office):
    answer = await claim(office)
    (row,) = await answer.json()
    assert (answer.status, row["status"], row["worker_id"]) == (200, "preparing", ME)
    assert row["lock_expires_at"] == LEASE.replace("+00:00", "Z")
    (sent,) = office.bus.commands[1:]
    assert sent == c.ClaimRender(1, ME, at(minutes=30), only_if=RowFence(run=0, status="pending"))
    assert "Drover-Ignored" not in answer.headers


@pytest.mark.req("DI-13")
async def test_the_second_gets_no_row_even_if_the_read_model_is_late(office):
    stale = row_of(office)
    await claim(office)
    office.pool.rows = [stale]
    answer = await patch(office, "id=eq.1&status=eq.pending", CLAIM | {"worker_id": OTHER}, **SHOW)
    assert (answer.status, await answer.json()) == (200, [])
    assert answer.headers["Drover-Refused"] == "1=CONFLICT"
    single = {"Accept": "application/vnd.pgrst.object+json"}
    answer = await patch(office, "id=eq.1&status=eq.pending", CLAIM | {"worker_id": OTHER}, **SHOW, **single)
    assert (answer.status, (await answer.json())["code"]) == (406, "PGRST116")
    answer = await patch(office, "id=eq.1&status=eq.pending", CLAIM | {"worker_id": OTHER})
    assert answer.status == 204
    assert office.render().worker_id == ME


@pytest.mark.req("DI-13")
async def test_by_its_number_alone_the_second_claim_is_409_and_an_unknown_render_404(office):
    assert (await patch(office, "id=eq.1", CLAIM)).status == 204
    answer = await patch(office, "id=eq.1", CLAIM | {"worker_id": OTHER})
    assert (answer.status, (await answer.json())["code"]) == (409, "CONFLICT")
    assert (await patch(office, "id=eq.99", CLAIM)).status == 404


# Reporting


@pytest.mark.req("DI-13", "RN-09")
async def test_a_worker_reports_as_003_writes_it(office):
    await claim(office)
    office.pool.rows = []
    reports = [
        {"nexrender_job_id": "job_abc123", "status": "rendering", "started_at": LEASE},
        {"status": "rendering", "progress": 45, "updated_at": LEASE},
        {"status": "encoding", "progress": 90, "updated_at": LEASE},
        {"status": "finished", "progress": 100, "updated_at": LEASE},
    ]
    seen = []
    for report in reports:
        answer = await patch(office, "id=eq.1", report)
        assert answer.status == 204, await answer.text()
        seen.append((office.render().status, office.render().progress, answer.headers["Drover-Ignored"]))
    assert seen == [
        (Status.RENDERING, 0, "started_at"),
        (Status.RENDERING, 45, "updated_at"),
        (Status.ENCODING, 90, "updated_at"),
        (Status.UPLOADING, 100, "updated_at, progress"),
    ]
    done = {"status": "completed", "output_file_path": "/nas/first_1.mp4", "completed_at": LEASE, "duration_seconds": 3}
    answer = await patch(office, "id=eq.1", done, **SHOW)
    (row,) = await answer.json()
    assert (row["status"], answer.headers["Drover-Ignored"]) == ("completed", "completed_at, duration_seconds")
    assert office.render().status is Status.COMPLETED


@pytest.mark.req("DI-13")
@pytest.mark.parametrize(
    ("word", "status"), [("queued", "rendering"), ("finished", "uploading"), ("error", "failed"), ("failed", "failed")]
)
async def test_the_words_of_nexrender_are_taken(office, word, status):
    await claim(office)
    assert (await patch(office, "id=eq.1", {"status": word})).status == 204
    assert office.render().status == status


@pytest.mark.req("DI-13")
async def test_a_failure_keeps_its_message(office):
    await claim(office)
    await patch(office, "id=eq.1", {"status": "failed", "error_message": "File too small: 12 bytes"})
    (failed,) = (event for event in office.bus.scenario.decision.events if hasattr(event, "fault"))
    assert (failed.fault, failed.message) == ("WORKER_FAILED", "File too small: 12 bytes")


@pytest.mark.req("DI-13", "RN-22")
async def test_a_worker_writes_only_what_it_has_claimed(office):
    answer = await patch(office, "id=eq.1", {"status": "rendering"})
    assert (answer.status, (await answer.json())["details"]["status"]) == (409, "pending")
    await claim(office)
    answer = await patch(office, "id=eq.1", {"progress": 50, "worker_id": OTHER})
    assert (answer.status, (await answer.json())["details"]["worker_id"]) == (409, ME)
    await patch(office, "id=eq.1", {"status": "pending"})
    office.bus.do(c.Claim("ours"))
    assert (await patch(office, "id=eq.1", {"status": "completed", "output_file_path": "/x"})).status == 409
    assert office.render().status is Status.PREPARING


@pytest.mark.req("DI-13")
async def test_a_report_counts_for_the_worker_that_its_filter_names(office):
    await claim(office)
    office.pool.rows = [row_of(office)]
    answer = await patch(office, f"id=eq.1&worker_id=eq.{ME}", {"progress": 50}, **SHOW)
    assert len(await answer.json()) == 1
    assert office.bus.commands[-1].only_if == RowFence(worker_id=ME)
    office.bus.do(c.ReleaseRender(1))
    office.bus.do(c.ClaimRender(1, OTHER))
    answer = await patch(office, f"id=eq.1&worker_id=eq.{ME}", {"progress": 60}, **SHOW)  # the rows are late
    assert (answer.status, await answer.json()) == (200, [])
    assert (office.render().worker_id, office.render().progress) == (OTHER, 0)


@pytest.mark.req("DI-13")
async def test_a_lease_is_renewed_by_writing_it(office):
    await claim(office)
    office.bus.scenario.after(minutes=1)
    answer = await patch(office, "id=eq.1", {"lock_expires_at": at(minutes=31).isoformat()})
    assert (answer.status, office.render().lease_until) == (204, at(minutes=31))
    answer = await patch(office, "id=eq.1", {"lock_expires_at": "2026-03-02T12:29:00"})
    assert (answer.status, office.render().lease_until) == (204, at(minutes=29)), "UTC, as in Postgres"


# Manual recovery


@pytest.mark.req("DI-14", "RN-21")
async def test_one_render_is_put_back_by_its_number_as_10_2_writes_it(office):
    await claim(office)
    back = {"status": "pending", "worker_id": None, "recovery_count": 1}
    answer = await patch(office, "id=eq.1", back, **SHOW)
    (row,) = await answer.json()
    assert (row["status"], row["worker_id"], row["recovery_count"]) == ("pending", None, 1)
    assert answer.headers["Drover-Ignored"] == "recovery_count"


@pytest.mark.req("DI-14", "RN-21")
async def test_all_stuck_renders_are_put_back_by_filters_except_those_that_have_moved_on(office):
    for _ in range(3):
        await office.request()
    for render_id in (1, 2, 3, 4):
        office.bus.do(c.ClaimRender(render_id, ME))
    office.pool.rows = [row_of(office, render_id) for render_id in (1, 2, 3, 4)]
    office.bus.scenario.after(minutes=1)
    office.bus.do(c.ReportWork(2, lease_until=at(minutes=31)))  # alive after all
    office.bus.do(c.ReportWork(3, status="completed", output_file_path="/x"))
    back = {"status": "pending", "worker_id": None, "lock_expires_at": None}
    filters = "status=in.(preparing,rendering,encoding,uploading)&lock_expires_at=lt.2026-03-02T12:40:00Z"
    answer = await patch(office, f"{filters}&worker_id=not.is.null", back, **SHOW)
    assert [row["id"] for row in await answer.json()] == [1, 4]
    assert answer.headers["Drover-Refused"] == "2=CONFLICT, 3=CONFLICT"
    assert [office.render(id_).status for id_ in (1, 2, 3, 4)] == ["pending", "preparing", "completed", "pending"]


@pytest.mark.req("DI-14")
async def test_a_cancel_by_filters_passes_over_a_render_that_was_claimed_meanwhile(office):
    await office.request()
    office.pool.rows = [row_of(office, 1), row_of(office, 2)]
    office.bus.do(c.Claim("ours"))
    answer = await patch(office, "status=eq.pending", {"status": "cancelled"}, **SHOW)
    assert [row["id"] for row in await answer.json()] == [2]
    assert [office.render(id_).status for id_ in (1, 2)] == ["preparing", "cancelled"]


@pytest.mark.req("DI-14")
async def test_a_filter_on_what_never_changes_is_no_precondition(office):
    office.pool.rows = [row_of(office)]
    office.bus.do(c.Claim("ours"))
    answer = await patch(office, "composition_id=eq.comp_123", {"status": "cancelled"}, **SHOW)
    assert len(await answer.json()) == 1
    assert office.bus.commands[-1] == c.CancelRender(1)


@pytest.mark.req("DI-14", "RN-21")
async def test_failed_renders_of_a_worker_are_run_again_by_filters(office):
    await claim(office)
    await patch(office, "id=eq.1", {"status": "failed"})
    office.pool.rows = [row_of(office, worker_id=ME)]  # the row keeps the last worker
    answer = await patch(office, f"status=eq.failed&worker_id=eq.{ME}", {"status": "pending"}, **SHOW)
    assert [row["id"] for row in await answer.json()] == [1]
    assert office.bus.commands[-1] == c.RerunRender(1, RowFence(run=1, status="failed"))
    assert office.render().status is Status.PENDING


@pytest.mark.req("DI-14", "RN-21")
@pytest.mark.parametrize("report", [c.ReportWork(1, status="rendering"), c.ReportWork(1, lease_until=at(minutes=20))])
async def test_a_render_that_seemed_stuck_by_its_last_change_is_left_to_a_worker_that_reports(office, report):
    await claim(office)
    office.pool.rows = [row_of(office)]
    office.bus.do(report)
    answer = await patch(office, "updated_at=lt.2026-03-02T12:00:01Z", {"status": "pending"}, **SHOW)
    assert (answer.status, await answer.json()) == (200, [])
    assert office.render().worker_id == ME
    answer = await patch(office, "id=eq.1&run=eq.1", {"progress": 50})
    assert (answer.status, office.bus.commands[-1].only_if) == (204, RowFence(run=1)), "that has not changed"
