"""The oldest rows of events are detached, and come back: rebuild and verify honour both."""

from __future__ import annotations

import pytest

from drover.postgres.pool import connect
from drover.projection import catch_up, detaching, table_partitions
from drover.projection.detaching import attach_again, detach_before, detached, forget_detached
from drover.projection.difference import total
from drover.projection.errors import DetachedTableMissing, DetachedTableOutdated, TablesRead
from drover.projection.rebuild import Rebuild
from drover.projection.runtime import Limits, Runner
from drover.projection.verify import verify
from drover.projector.app import Projector
from drover.projector.fleet import FLEET_PROJECTION
from drover.testing.waiting import eventually
from tests.integration.projection.conftest import START

SCHEMA = FLEET_PROJECTION.schema

pytestmark = pytest.mark.req("YR-09")

COMMITS = 20


@pytest.fixture
async def projected(farm, dsn, read_model, monkeypatch):
    monkeypatch.setattr(catch_up, "BATCH_EVENTS_MAX", 20)  # several batches for each partition
    monkeypatch.setattr(table_partitions, "ROWS_PER_PARTITION", COMMITS * table_partitions.EVENTS_PER_COMMIT)
    await farm.register(phones=45)
    await farm.flip(commits=30)
    async with Projector(farm.log_of, dsn, projections=[FLEET_PROJECTION], limits=Limits(batch_events_max=20)):
        await eventually(lambda: there(farm, read_model))
        yield farm


async def there(farm, read_model):
    return await read_model.checkpoint() == farm.head


@pytest.fixture
async def connection(dsn):
    async with connect(dsn, "an operator") as connection:
        yield connection


async def first_of(connection, table="events", column="seq"):
    return await connection.fetchval(f"SELECT min({column}) FROM {SCHEMA}.{table}")


async def differences(projected, dsn):
    return total((await verify(FLEET_PROJECTION, [projected.log], dsn)).tables)


async def rebuilt(projected, dsn):
    async with Rebuild(FLEET_PROJECTION, [projected.log], dsn) as rebuild:
        await rebuild.fold()
        _, tables = await rebuild.diff()
        await rebuild.swap()
        return total(tables)


async def test_whole_partitions_before_a_position_leave_all_tables(projected, dsn, connection):
    rows = await connection.fetchval(f"SELECT count(*) FROM {SCHEMA}.events")
    found = await detach_before(connection, FLEET_PROJECTION, 2 * COMMITS + 5)
    assert {(one.table, one.first, one.after) for one in found} == {
        (table, first, first + COMMITS) for table in ("events", "tasks_event") for first in (0, COMMITS)
    }
    assert await first_of(connection) == 2 * COMMITS
    left = await connection.fetchval(f"SELECT count(*) FROM {SCHEMA}.events")
    aside = await connection.fetchval("SELECT count(*) FROM drover_detached.fleet_events_0_20")
    assert aside >= COMMITS - 1
    assert left + aside + await connection.fetchval("SELECT count(*) FROM drover_detached.fleet_events_20_40") == rows


async def test_whole_partitions_before_a_time_leave(projected, connection):
    at = await connection.fetchval(f"SELECT at FROM {SCHEMA}.events WHERE seq = $1 AND line = 0", COMMITS + 3)
    found = await detach_before(connection, FLEET_PROJECTION, at)
    assert {(one.first, one.after) for one in found} == {(0, COMMITS)}
    assert all(START < one.until < at for one in found)


async def test_the_partition_that_is_written_stays(projected, connection):
    await detach_before(connection, FLEET_PROJECTION, 1_000_000)
    assert await first_of(connection) <= projected.head.seq
    assert max(one.after for one in await detached(connection)) <= projected.head.seq


async def test_verify_does_not_miss_detached_rows_and_says_so(projected, dsn, connection):
    await detach_before(connection, FLEET_PROJECTION, 2 * COMMITS)
    report = await verify(FLEET_PROJECTION, [projected.log], dsn)
    assert total(report.tables) == 0
    assert report.detached_before == 2 * COMMITS


@pytest.mark.control
async def test_without_the_record_verify_would_report_them_missing(projected, dsn, connection):
    await detach_before(connection, FLEET_PROJECTION, 2 * COMMITS)
    await connection.execute("DELETE FROM drover.detached_partitions")
    assert await differences(projected, dsn) >= COMMITS


async def test_a_rebuild_does_not_fold_them_again_and_keeps_the_detached_tables(projected, dsn, connection, read_model):
    await detach_before(connection, FLEET_PROJECTION, 2 * COMMITS)
    assert await rebuilt(projected, dsn) == 0
    assert await first_of(connection) == 2 * COMMITS
    assert all(one.is_there for one in await detached(connection))
    assert await differences(projected, dsn) == 0
    await projected.flip(commits=2 * COMMITS)
    await eventually(lambda: there(projected, read_model))
    assert await differences(projected, dsn) == 0


async def test_a_read_model_that_is_folded_anew_leaves_them_out(projected, dsn, connection, read_model):
    await detach_before(connection, FLEET_PROJECTION, 2 * COMMITS)
    await connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE")

    async def folded():
        return await connection.fetchval(f"SELECT to_regclass('{SCHEMA}.events')") and await there(
            projected, read_model
        )

    await projected.flip(commits=1)
    await eventually(folded)
    assert await first_of(connection) == 2 * COMMITS


async def test_what_was_detached_is_attached_again(projected, dsn, connection, read_model):
    await detach_before(connection, FLEET_PROJECTION, 2 * COMMITS)
    assert len(await attach_again(connection, FLEET_PROJECTION)) == 4
    assert await detached(connection) == []
    assert await read_model.agrees(projected)
    assert await differences(projected, dsn) == 0


async def test_it_is_attached_again_after_a_rebuild_as_well(projected, dsn, connection, read_model):
    await detach_before(connection, FLEET_PROJECTION, 2 * COMMITS)
    await rebuilt(projected, dsn)
    await attach_again(connection, FLEET_PROJECTION)
    assert await read_model.agrees(projected)


async def test_only_ranges_without_a_hole_after_them_are_attached(projected, dsn, connection):
    await detach_before(connection, FLEET_PROJECTION, 2 * COMMITS)
    await connection.execute("DROP TABLE drover_detached.fleet_events_0_20")
    attached = await attach_again(connection, FLEET_PROJECTION)
    assert {(one.table, one.first) for one in attached} == {("events", COMMITS), ("tasks_event", COMMITS)}
    assert await first_of(connection) == COMMITS
    assert await differences(projected, dsn) == 0
    with pytest.raises(DetachedTableMissing, match="fleet_events_0_20"):
        await attach_again(connection, FLEET_PROJECTION)


async def test_rows_of_dropped_tables_are_folded_again(projected, dsn, connection, read_model):
    await detach_before(connection, FLEET_PROJECTION, COMMITS)
    await connection.execute("DROP TABLE drover_detached.fleet_events_0_20, drover_detached.fleet_tasks_event_0_20")
    assert len(await forget_detached(connection, FLEET_PROJECTION)) == 2
    assert await differences(projected, dsn) >= COMMITS - 1, "until the rebuild they are missing, and it is said"
    await rebuilt(projected, dsn)
    assert await read_model.agrees(projected)


async def test_a_table_of_another_form_is_not_attached(projected, connection):
    await detach_before(connection, FLEET_PROJECTION, COMMITS)
    await connection.execute("ALTER TABLE drover_detached.fleet_events_0_20 DROP COLUMN trace")
    with pytest.raises(DetachedTableOutdated, match="fold-again"):
        await attach_again(connection, FLEET_PROJECTION)
    assert len(await detached(connection)) == 2, "nothing was changed"


async def test_tables_that_are_read_all_the_time_are_left_alone(projected, dsn, connection, monkeypatch):
    monkeypatch.setattr(detaching, "GIVE_UP_S", 0.0)
    monkeypatch.setattr(detaching, "LOCK_MS", 50)
    async with connect(dsn, "a reader") as reader, reader.transaction():
        await reader.fetch(f"SELECT * FROM {SCHEMA}.events LIMIT 1")
        with pytest.raises(TablesRead):
            await detach_before(connection, FLEET_PROJECTION, COMMITS)
    assert await detached(connection) == []
    assert await first_of(connection) < COMMITS


async def test_a_log_that_ends_before_the_detached_rows_is_refused(farm, dsn, connection):
    """Another log, or one whose end was lost: its events would be taken for detached ones, and left out."""
    await farm.register(phones=3)
    await connection.execute(
        'INSERT INTO drover.detached_partitions (context, "table", from_seq, to_seq, name) '
        "VALUES ('fleet', 'events', 0, 1000, 'fleet_events_0_1000')"
    )
    async with Runner(FLEET_PROJECTION, farm.log, dsn) as runner:
        await eventually(lambda: runner.stopped is not None)
    assert runner.stopped.reason == "another_history"
    assert "--fold-again" in runner.stopped.details["hint"]
