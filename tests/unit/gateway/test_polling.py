"""The poll: from memory, recorded as sent once, and never from the database."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from drover.bus.messages import Rejected
from drover.domain.errors import Code
from drover.domain.fleet.commands import CancelJob, SendAttempt
from drover.domain.fleet.state import Phase
from drover.gateway.poll_plan import Plan, Plans
from drover.readmodel.models import RELATIONS
from drover.web.postgrest.ast import Star
from tests.unit.gateway.conftest import JOB, POLL

NOBODY = "00000000-0000-7000-8000-000000000000"

DONE = {"status": "completed", "progress_pct": 100, "actual_duration_sec": 156}


@pytest.mark.req("DF-09")
async def test_a_poll_gives_the_device_its_next_work_with_the_job_in_it(world):
    device_id = await world.phone()
    world.job()
    answer = await world.poll(device_id)
    assert answer.status == 200
    assert answer.headers["Content-Range"] == "0-0/*"
    (row,) = await answer.json()
    assert (row["device_id"], row["status"], row["run"], row["attempt"]) == (device_id, "pending", 1, 1)
    assert (row["jobs"]["target_url"], row["jobs"]["duration_min_pct"]) == ("https://youtu.be/abc", 30)
    assert row["sent_at"] and row["timeout_at"]
    assert list(row) == [*RELATIONS["job_assignments"].columns, "jobs"]
    assert world.pool.asked == 0


@pytest.mark.req("DF-09")
async def test_sent_is_recorded_once_and_a_redelivery_records_nothing(world):
    device_id = await world.phone()
    world.job()
    first = await (await world.poll(device_id)).json()
    assert world.bus.commands == [SendAttempt(first[0]["id"], 1)]
    assert world.offered(device_id).phase is Phase.SENT
    recorded = world.roster.seq
    again = await (await world.poll(device_id)).json()
    assert again == first
    assert world.roster.seq == recorded


@pytest.mark.req("DF-09", "DF-10")
@pytest.mark.parametrize("said", [{"status": "running"}, DONE], ids=["begun", "ended"])
async def test_a_run_that_was_begun_is_not_given_again_by_a_roster_that_has_not_heard_of_it(world, said):
    device_id = await world.phone()
    world.job()
    (work,) = await (await world.poll(device_id)).json()
    world.bus.roster_hears = False
    assert (await world.report(work["id"], {**said, "run": 1})).status == 204
    assert await (await world.poll(device_id)).json() == []


async def test_an_empty_poll_is_a_sign_of_life_and_touches_neither_writer_nor_database(world):
    device_id = await world.phone()
    answer = await world.poll(device_id)
    assert (answer.status, await answer.json()) == (200, [])
    assert answer.headers["Content-Range"] == "*/*"
    assert answer.content_type == "application/json"
    assert [heard[0] for heard in world.telemetry.heard] == [device_id]
    assert (world.bus.sent, world.pool.asked) == ([], 0)


async def test_a_device_that_nobody_knows_has_no_work_and_leaves_no_trace(world):
    answer = await world.poll(NOBODY)
    assert (answer.status, await answer.json()) == (200, [])
    assert answer.headers["Drover-Poll-After"] == "5"
    assert (world.telemetry.heard, world.pool.asked) == ([], 0)


async def test_what_runs_is_not_polled_any_more(world):
    device_id = await world.phone()
    world.job()
    world.running(device_id)
    assert await (await world.poll(device_id)).json() == []


@pytest.mark.req("DF-12")
async def test_the_answer_says_when_to_poll_next(world):
    device_id = await world.phone()
    after = [(await world.poll(device_id)).headers["Drover-Poll-After"] for _ in range(12)]
    assert after == ["5", "5", *["10"] * 7, *["30"] * 3]
    world.job()
    assert (await world.poll(device_id)).headers["Drover-Poll-After"] == "5"
    world.bus.do(CancelJob(JOB))
    assert (await world.poll(device_id)).headers["Drover-Poll-After"] == "5", "it starts over"


async def test_however_a_client_spells_it(world):
    device_id = await world.phone()
    world.job()
    (row,) = await (await world.poll(device_id)).json()
    for query, shown in (
        (f"status=eq.pending&device_id=eq.{device_id.upper()}&select=id", {"id": row["id"]}),
        (f"device_id=eq.{device_id}&status=eq.pending", {k: v for k, v in row.items() if k != "jobs"}),
        (
            f"select={quote('run,work:jobs!inner(url:target_url)')}&device_id=eq.{device_id}&status=eq.pending&limit=5"
            "&order=created_at.desc.nullslast,id",
            {"run": 1, "work": {"url": "https://youtu.be/abc"}},
        ),
        (f"select={quote('id,jobs()', safe='')}&device_id=eq.{device_id}&status=eq.pending", {"id": row["id"]}),
    ):
        url = f"/rest/v1/job_assignments?{query}"
        for _ in range(2):  # the second time from memory
            answer = await world.client.get(url, headers=world.anon | {"Range": "0-0", "Range-Unit": "items"})
            assert (answer.status, await answer.json()) == (200, [shown]), query
    assert world.pool.asked == 0


@pytest.mark.parametrize(
    "query",
    [
        "device_id=eq.{}",
        "device_id=eq.{}&status=eq.running",
        "device_id=eq.{}&status=in.(pending)",
        "device_id=eq.{}&status=not.eq.pending",
        "device_id=eq.{}&status=eq.pending&limit=0",
        "device_id=eq.{}&status=eq.pending&offset=1",
        "device_id=eq.{}&status=eq.pending&run=eq.1",
        "device_id=eq.{}&device_id=eq.{}&status=eq.pending",
        "or=(device_id.eq.{},status.eq.pending)",
        "select=*,devices(*)&device_id=eq.{}&status=eq.pending",
        "select=count()&device_id=eq.{}&status=eq.pending",
        "select=*,jobs(*)&jobs.limit=1&device_id=eq.{}&status=eq.pending",
    ],
)
async def test_any_other_read_is_one_of_the_read_model_and_records_nothing(world, query):
    device_id = await world.phone()
    world.job()
    url = f"/rest/v1/job_assignments?{query.replace('{}', device_id)}"
    assert (await world.client.get(url, headers=world.anon)).status == 503
    assert (world.pool.asked, world.bus.sent) == (1, [])


async def test_a_column_that_is_not_there_is_refused_as_in_any_read(world):
    device_id = await world.phone()
    world.job()
    for wrong in ("select=nonsense", "select=jobs(nonsense)", "order=nonsense"):
        url = f"/rest/v1/job_assignments?{wrong}&device_id=eq.{device_id}&status=eq.pending"
        answer = await world.client.get(url, headers=world.anon)
        assert (answer.status, (await answer.json())["code"]) == (400, "42703"), wrong
    assert (world.pool.asked, world.bus.sent) == (0, [])


async def test_whoever_only_looks_fetches_nothing(world):
    device_id = await world.phone()
    world.job()
    assert (await world.poll(device_id, key=world.service)).status == 503, "the back office reads the read model"
    await world.client.head(f"/rest/v1/job_assignments?{POLL.format(device_id)}", headers=world.anon)
    await world.poll(device_id, Range="5-9")
    assert (world.pool.asked, world.bus.sent) == (3, [])


async def test_a_single_object_and_a_count(world):
    device_id = await world.phone()
    single = {"Accept": "application/vnd.pgrst.object+json"}
    answer = await world.poll(device_id, **single)
    assert (answer.status, (await answer.json(content_type=None))["code"]) == (406, "PGRST116")
    world.job()
    answer = await world.poll(device_id, **single)
    assert (await answer.json(content_type=None))["device_id"] == device_id
    answer = await world.poll(device_id, Prefer="count=exact")
    assert answer.headers["Content-Range"] == "0-0/1"


async def test_what_could_not_be_shown_is_not_recorded_as_sent(world):
    device_id = await world.phone()
    world.job()
    assert (await world.poll(device_id, Accept="text/csv")).status == 406
    assert (await world.poll(device_id, **{"Accept-Profile": "private"})).status == 406
    assert (await world.poll(device_id, Prefer="handling=strict, x=y")).status == 400
    assert world.bus.sent == []


async def test_work_that_was_taken_back_meanwhile_is_not_handed_out(world):
    device_id = await world.phone()
    world.job()
    world.bus.roster_hears = False
    world.bus.do(CancelJob(JOB))
    answer = await world.poll(device_id)
    assert (answer.status, await answer.json()) == (200, [])
    assert [type(command) for command in world.bus.commands] == [SendAttempt]


async def test_while_the_writer_is_away_an_offer_waits_and_empty_polls_go_on(world):
    busy, idle = await world.phone("AAAAAAA1"), NOBODY
    world.job()
    world.bus.answer = Rejected(Code.UNAVAILABLE, "nobody answered")
    answer = await world.poll(busy)
    assert (answer.status, (await answer.json())["code"]) == (503, "UNAVAILABLE")
    assert (await world.poll(idle)).status == 200
    world.bus.answer = None
    assert len(await (await world.poll(busy)).json()) == 1


async def test_a_roster_that_is_still_loading_offers_nothing_of_the_past(world):
    device_id = await world.phone()
    world.job()
    world.roster.complete = False
    answer = await world.poll(device_id)
    assert (answer.status, (await answer.json())["code"]) == (503, "UNAVAILABLE")


async def test_a_key_that_is_bound_to_a_device_polls_for_that_one_only(world):
    mine, other = await world.phone("AAAAAAA1"), await world.phone("AAAAAAA2")
    world.job()
    assert await (await world.poll(other, key=world.bound(mine))).json() == []
    assert (world.telemetry.heard, world.bus.sent) == ([], [])
    assert len(await (await world.poll(mine, key=world.bound(mine))).json()) == 1
    assert world.bus.sent[0]["by"] == f"device:{mine}"


async def test_a_poll_can_wait_for_a_position(world):
    device_id = await world.phone()
    answer = await world.poll(device_id, **{"Drover-Min-Position": "fleet=99"})
    assert (answer.status, (await answer.json())["code"]) == (503, "READ_MODEL_BEHIND")
    assert world.roster_at.waits[-1] == ("fleet", 99, 2.0)


def test_shapes_of_queries_are_remembered_within_a_bound(monkeypatch):
    monkeypatch.setattr("drover.gateway.poll_plan.SHAPES_MAX", 2)
    plans = Plans()
    for limit in (1, 2, 3, 1):
        query = f"device_id=eq.{NOBODY}&status=eq.pending&limit={limit}"
        assert plans.read(query) == (NOBODY, Plan((Star(),)))
    assert len(plans) == 2
    plans.read(f"device_id=eq.{NOBODY}&status=eq.pending&id=eq.{'x' * 600}")
    assert len(plans) == 2, "what is very long is not kept"
