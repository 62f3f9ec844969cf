"""The render queue in Postgres: rows as the log says, and the views as clients know them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prometheus_client.registry import CollectorRegistry

from drover.bus.telemetry import Beat
from drover.domain.render import events as e
from drover.postgres.pool import open_pool
from drover.projection.presence import PresenceWriter
from drover.projection.runtime import Limits
from drover.projector.render.figures import RenderFigures
from drover.projector.render.workers import RENDER_WORKERS
from drover.readmodel.form import placed, schema_of
from drover.testing.waiting import eventually
from tests.integration.projection.described import check_described, plan_of, relations_of, views_of
from tests.integration.projection.studio import Studio
from tests.unit.domain.render.world import CHIPS, Hand
from tests.unit.projection.render_walking import RenderWalk

SMALL = Limits(batch_events_max=100, cached_rows_max=50)
"""Many batches, and a cache that forgets: rows must be loaded again."""


@pytest.fixture
def studio(dsn, read_model) -> Studio:
    return Studio(dsn, read_model.connection)


@pytest.fixture
def hears(dsn):
    """Workers are heard of; the last time so many seconds ago."""

    async def hear(worker: str, ago: float = 0, **reported: Any) -> None:
        async with open_pool(dsn, "test") as pool, PresenceWriter(pool, RENDER_WORKERS) as presence:
            presence.note([Beat(worker, datetime.now(UTC) - timedelta(seconds=ago), reported)])

    return hear


@pytest.mark.req("RN-01", "RN-18", "EV-03")
async def test_a_queues_life_gives_exactly_the_rows_that_its_log_says(studio) -> None:
    walk = RenderWalk(seed=3)
    while len(walk.queue.renders) + walk.queue.last_id < 200:
        if events := walk.step():
            await studio.commit(*events, stamped=True)
    await studio.project(SMALL)
    assert await studio.stored() == await studio.expected()
    seen = {row["status"] for row in await studio.rows("render_queue")}
    assert seen >= {"pending", "completed", "failed", "cancelled"}


@pytest.mark.req("RN-17")
async def test_gfx_data_is_nowhere_in_clear_and_leaves_with_what_it_is_bound_to(studio) -> None:
    await studio.render()
    await studio.project()
    stored = await studio.connection.fetchrow(placed("SELECT gfx_id, gfx_data FROM rm_render.render_gfx"))
    row = await studio.row("render_queue")
    assert row["gfx_data"] == f"{stored['gfx_id']} {stored['gfx_data']}"
    (event,) = await studio.rows("events")
    assert stored["gfx_data"] == '{"v":1,"kid":"k1","ct":"c2VhbGVk"}'
    assert "c2VhbGVk" in event["data"]


# Figures


async def figures(studio: Studio) -> dict[str, Any]:
    return await studio.row("render_figures")


@pytest.mark.req("RN-14")
async def test_of_an_empty_queue_there_is_nothing_to_say(studio) -> None:
    await studio.commit(e.CompositionDescribed(CHIPS, "", "", "", 1))
    await studio.project()
    assert await figures(studio) == {
        "pending_count": 0,
        "avg_duration_seconds": None,
        "success_rate": None,
        "active_workers": 0,
    }


@pytest.mark.req("RN-14")
async def test_all_that_is_pending_counts_however_old(studio) -> None:
    for ago in (0, 3599, 3700, 100_000):
        await studio.render(ago)
    await studio.commit(Hand(2, worker="w").claimed())
    await studio.project()
    assert (await figures(studio))["pending_count"] == 3


@pytest.mark.req("RN-14")
async def test_the_mean_is_of_the_latest_hundred_that_were_completed_within_a_day(studio) -> None:
    await studio.completed(ago=90_000, took=9000)
    for number in range(20):
        await studio.completed(ago=5000 + number, took=1000)
    for number in range(95):
        await studio.completed(ago=4000 - number, took=100)
    await studio.project()
    assert (await figures(studio))["avg_duration_seconds"] == pytest.approx((95 * 100 + 5 * 1000) / 100)


@pytest.mark.req("RN-14")
async def test_what_was_completed_longer_ago_than_a_day_does_not_count_for_the_mean(studio) -> None:
    await studio.completed(ago=90_000, took=9000)
    await studio.completed(ago=100, took=70)
    await studio.project()
    assert (await figures(studio))["avg_duration_seconds"] == 70.0


@pytest.mark.req("RN-14")
async def test_the_rate_is_of_what_was_requested_and_ended_within_a_day(studio) -> None:
    for _ in range(3):
        await studio.completed(ago=100)
    await studio.failed(ago=100)
    await studio.failed(ago=90_000)
    await studio.render()
    cancelled = await studio.render()
    await studio.commit(e.RenderCancelled(cancelled.render_id, 0, "", None))
    await studio.project()
    assert (await figures(studio))["success_rate"] == 75.0


@pytest.mark.req("RN-14")
async def test_active_workers_are_those_that_are_heard_busy_or_idle(studio, hears) -> None:
    busy, silent = await studio.render(), await studio.render()
    await studio.commit(busy.claimed(), silent.claimed())
    await hears(busy.worker, render_id=busy.render_id, progress=0)
    await hears("idle", render_id=None, progress=0)
    await hears("gone", ago=31)
    await hears("long gone", ago=90_000)
    await studio.project()
    assert (await figures(studio))["active_workers"] == 2
    workers = {row["worker_id"]: row for row in await studio.rows("render_workers")}
    assert {name: (row["status"], row["render_queue_id"]) for name, row in workers.items()} == {
        busy.worker: ("busy", busy.render_id),
        "idle": ("idle", None),
        "gone": ("gone", None),
        silent.worker: ("gone", silent.render_id),
    }
    assert workers[silent.worker]["last_seen_at"] is None
    assert (workers[busy.worker]["render_status"], workers[busy.worker]["run"]) == ("preparing", 1)


async def test_a_worker_that_was_not_heard_for_a_day_is_forgotten(studio, hears) -> None:
    await hears("long gone", ago=90_000)
    await hears("here")
    rows = await studio.connection.fetch("SELECT worker_id FROM tel_render.workers")
    assert [row["worker_id"] for row in rows] == ["here"]


@pytest.mark.req("RN-14")
async def test_the_figures_are_among_the_metrics_while_somebody_runs_them(studio, hears, dsn) -> None:
    for _ in range(3):
        await studio.render()
    await studio.completed(ago=100)
    await hears("idle")
    registry = CollectorRegistry()
    async with open_pool(dsn, "test") as pool:
        async with RenderFigures(pool, 4, registry=registry, refresh_every_s=0.05):
            assert registry.get_sample_value("render_queue_pending_count") is None, "there are no tables yet"
            assert registry.get_sample_value("ae_worker_licence_count") == 4
            await studio.project()
            await eventually(lambda: registry.get_sample_value("render_queue_pending_count") == 3)
            assert registry.get_sample_value("render_job_success_rate") == 100.0
            assert registry.get_sample_value("ae_worker_active_count") == 1
            await studio.connection.execute(f"DROP SCHEMA {schema_of('render')} CASCADE")
            await eventually(lambda: registry.get_sample_value("render_queue_pending_count") is None)
        assert registry.get_sample_value("ae_worker_licence_count") is None


# Stages


@pytest.mark.req("RN-25")
async def test_each_stage_is_shown_against_its_range(studio) -> None:
    hand = await studio.render(ago=200)
    await studio.commit(hand.claimed(), ago=190)
    await studio.commit(hand.submitted(), ago=189.5)
    await studio.commit(e.EncodingStarted(*hand.of, 90), ago=149.5)
    await studio.commit(e.UploadStarted(*hand.of), ago=59.5)
    await studio.commit(hand.was_completed(100), ago=29.5)
    await studio.project()
    rows = await studio.rows("render_stages", "TRUE ORDER BY number")
    assert [(row["stage"], row["seconds"], row["verdict"], row["under_way"]) for row in rows] == [
        ("preparing", 0.5, "below", False),
        ("rendering", 40.0, "within", False),
        ("encoding", 90.0, "above", False),
        ("uploading", 30.0, "within", False),
    ]
    assert {row["stage"]: (row["seconds_min"], row["seconds_max"]) for row in rows} == {
        "preparing": (1, 2),
        "rendering": (30, 120),
        "encoding": (10, 60),
        "uploading": (5, 30),
    }, "003 §2.2"


@pytest.mark.req("RN-25")
async def test_of_a_stage_that_is_under_way_no_more_is_said_than_that_it_takes_too_long(studio) -> None:
    quick, slow = await studio.render(ago=500), await studio.render(ago=500)
    await studio.commit(quick.claimed(), slow.claimed(), ago=400)
    await studio.commit(slow.submitted(), ago=399)
    await studio.commit(quick.submitted(), ago=10)
    await studio.project()
    rows = {row["render_queue_id"]: row for row in await studio.rows("render_stages", "stage = 'rendering'")}
    assert (rows[quick.render_id]["under_way"], rows[quick.render_id]["verdict"]) == (True, None)
    assert (rows[slow.render_id]["under_way"], rows[slow.render_id]["verdict"]) == (True, "above")
    assert rows[slow.render_id]["seconds"] >= 399


# Progress between two events


@pytest.mark.req("RN-18")
async def test_progress_is_the_larger_of_the_events_and_what_its_worker_says_meanwhile(studio, hears) -> None:
    hand = await studio.render()
    await studio.commit(*hand.rendering(), e.RenderProgressed(*hand.of, 40))
    await studio.project()

    async def shown() -> int:
        return (await studio.row("render_queue"))["progress"]

    assert await shown() == 40
    await hears(hand.worker, render_id=1, progress=47)
    assert await shown() == 47
    await hears(hand.worker, render_id=1, run=1, progress=48)
    assert await shown() == 48
    for said in ({"run": 2, "progress": 90}, {"progress": 12}, {"progress": 170}, {"progress": "80"}, {}):
        await hears(hand.worker, **{"render_id": 1, **said})
        assert await shown() == 40, said
    await hears(hand.worker, render_id=2, progress=90)
    assert await shown() == 40
    await hears("another", render_id=1, progress=90)
    assert await shown() == 40
    await hears(hand.worker, render_id=1, progress=60)
    await studio.commit(e.RenderRequeued(1, 1, "lapsed", "", 1, 1, "uid", None))
    await studio.project()
    assert await shown() == 40


# Indices and descriptions


ASKED_OFTEN = [
    ("render_queue WHERE status = 'pending' ORDER BY created_at LIMIT 1", "render_rows_status"),
    ("render_queue WHERE status = 'pending' ORDER BY id LIMIT 1", "render_rows_pkey"),
    ("render_queue ORDER BY created_at DESC LIMIT 1", "render_rows_created_at"),
    ("render_queue WHERE cue_item_id #>> '{}' = '7'", "render_rows_cue_item_id"),
    ("render_queue WHERE broadcast_date = '2026-03-02'", "render_rows_broadcast_date"),
    ("render_queue WHERE composition_id = 'c' ORDER BY created_at DESC LIMIT 1", "render_rows_composition_id"),
    ("render_queue_audit WHERE render_queue_id = 7 ORDER BY id", "render_queue_audit_render_queue_id"),
    ("render_queue_audit ORDER BY changed_at DESC LIMIT 1", "render_queue_audit_changed_at"),
    ("renders_event WHERE render_queue_id = 7 ORDER BY id", "renders_event_render_queue_id"),
    ("render_stages WHERE render_queue_id = 7", "render_rows_pkey"),
    ("aep_field_mapping WHERE composition_id = 'c'", "field_rows_composition_id"),
    ("alerts WHERE resolved_at IS NULL ORDER BY raised_at DESC LIMIT 1", "alert_rows_open"),
    ("render_figures", "render_rows_completed_at"),
]


async def test_what_clients_ask_often_has_an_index(studio) -> None:
    await studio.render()
    await studio.project()
    await studio.connection.execute("SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off")
    for question, index in ASKED_OFTEN:
        plan = await _plan(studio, placed(f"SELECT * FROM rm_render.{question}"))
        assert index in plan, f"{question}\n{plan}"


async def test_who_does_not_ask_for_gfx_data_does_not_pay_for_it(studio) -> None:
    await studio.render()
    await studio.project()
    assert "render_gfx" not in await _plan(studio, placed("SELECT id, status, progress FROM rm_render.render_queue"))
    assert "workers" not in await _plan(studio, placed("SELECT id, status FROM rm_render.render_queue"))


async def _plan(studio: Studio, question: str) -> str:
    return await plan_of(studio.connection, question)


async def test_every_relation_is_there_as_it_is_described_and_every_view_is_described(studio) -> None:
    await studio.render()
    await studio.project()
    await check_described(studio.connection, "render")
    found = await views_of(studio.connection, "render")
    assert found | {"events", "render_queue_audit", "renders_event"} == relations_of("render")
