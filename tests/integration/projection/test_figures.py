"""The numbers that the read models add up to, as Prometheus gets them."""

from __future__ import annotations

import pytest
from prometheus_client.registry import CollectorRegistry

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.fleet.events import DeviceCameOnline
from drover.postgres import metrics
from drover.postgres.pool import open_pool
from drover.postgres.watch import watching
from drover.projector.app import Projector
from drover.projector.figures import ReadModelFigures
from drover.readmodel.form import placed
from drover.testing.waiting import eventually

pytestmark = pytest.mark.req("EV-07")


@pytest.fixture
async def pool(dsn):
    async with open_pool(dsn, "test") as pool:
        yield pool


async def told(pool) -> dict[str, float]:
    """Metric and labels → value."""
    registry = CollectorRegistry()
    async with ReadModelFigures(pool, registry=registry) as figures:
        await eventually(lambda: figures._known)
        samples = [sample for family in registry.collect() for sample in family.samples]
    return {" ".join((sample.name, *sample.labels.values())): sample.value for sample in samples}


async def test_before_there_are_tables_little_is_told_and_nothing_fails(pool):
    assert {*await told(pool)} == {"drover_database_size_bytes"}


async def test_devices_alerts_and_what_is_overdue_are_counted(farm, dsn, read_model, pool):
    await farm.register(3)
    await farm.commit(DeviceCameOnline(farm._phones[0]))
    await farm.commit(AlertRaised("a1", "poison_job", "j1", "It fails everywhere", {}))
    await farm.commit(AlertRaised("a2", "offers_untaken", "d1", "It takes nothing", {}))
    await farm.commit(AlertRaised("a3", "offers_untaken", "d2", "It takes nothing", {}))
    await farm.commit(AlertRaised("a4", "offers_untaken", "d3", "It takes nothing", {}))
    await farm.commit(AlertResolved("a4", "offers_untaken", "d3", "taken"))

    async with Projector(farm.log_of, dsn) as projector:

        async def all_there():
            return all(runner.active for runner in projector.runners) and await read_model.checkpoint() == farm.head

        await eventually(all_there, 30)
    execute = read_model.connection.execute
    await execute(
        placed(
            "INSERT INTO rm_reminder.alarm_rows (user_id, page_id, title, body, next_alarm_time, sent_count, attempt, "
            "shift_min, created_at, updated_at) "
            "VALUES ('u', 'p', '', '', now() - interval '90 seconds', 0, 0, 0, now(), now())"
        )
    )
    figures = await told(pool)
    assert figures["drover_fleet_devices online"] == 1
    assert figures["drover_fleet_devices offline"] == 2
    assert figures["drover_fleet_devices error"] == figures["drover_fleet_devices busy"] == 0
    assert figures["drover_open_alerts fleet poison_job critical"] == 1
    assert figures["drover_open_alerts fleet offers_untaken warning"] == 2
    assert figures["drover_fleet_assignments running"] == 0
    assert figures["drover_fleet_jobs active"] == 0
    assert figures["drover_reminder_overdue_seconds"] >= 90
    assert "drover_cleanup_finished_timestamp_seconds" not in figures
    await execute(placed("UPDATE rm_reminder.alarm_rows SET processed_at = now()"))
    assert (await told(pool))["drover_reminder_overdue_seconds"] == 0
    await execute("UPDATE drover.checkpoints SET caught_up_at = NULL WHERE context = 'fleet'")
    figures = await told(pool)
    assert not [name for name in figures if "fleet" in name], "of tables that are being built nothing is counted"
    assert figures["drover_reminder_overdue_seconds"] == 0


async def test_whether_postgres_answers_is_told(own_postgres):
    up = metrics.UP.labels(metrics.READ_MODELS)
    async with open_pool(own_postgres.dsn, "test") as pool, watching(pool, ask_every_s=0.05):
        await eventually(lambda: up._value.get() == 1, 30)
        await own_postgres.stop()
        await eventually(lambda: up._value.get() == 0, 30)
