"""Tables of events are partitioned by ranges of positions, and the next range is there before it is needed."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from drover.postgres.pool import connect
from drover.projection import catch_up, table_partitions
from drover.projection.difference import total
from drover.projection.rebuild import Rebuild
from drover.projection.runtime import Limits
from drover.projection.table_partitions import TablePartitions, partitions_of
from drover.projection.verify import verify
from drover.projector.app import Projector
from drover.projector.fleet import FLEET_PROJECTION
from drover.readmodel.events import EVENTS
from drover.readmodel.fleet.attempts import TASKS_EVENT
from drover.testing.waiting import eventually

SCHEMA = FLEET_PROJECTION.schema

pytestmark = pytest.mark.req("YR-09")

COMMITS = 20


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(catch_up, "BATCH_EVENTS_MAX", 50)  # several batches for each partition
    monkeypatch.setattr(table_partitions, "ROWS_PER_PARTITION", COMMITS * table_partitions.EVENTS_PER_COMMIT)


@pytest.fixture
async def projected(farm, dsn, read_model):
    await farm.register(phones=45)
    await farm.flip(commits=30)
    async with Projector(farm.log_of, dsn, projections=[FLEET_PROJECTION], limits=Limits(batch_events_max=50)):

        async def there():
            return await read_model.checkpoint() == farm.head

        await eventually(there)
        yield farm


async def ranges(connection, table=EVENTS, schema=SCHEMA):
    return [(it.first, it.after) for it in await partitions_of(connection, schema, table)]


async def test_rows_go_to_the_partition_of_their_commit_and_the_next_one_is_there(projected, read_model):
    found = await ranges(read_model.connection)
    assert found[0][0] == 0
    assert all(after == first for (_, after), (first, _) in pairwise(found)), "no gap, no overlap"
    last = found[-1]
    assert last[0] + (last[1] - last[0]) // 2 > projected.head.seq, "half of the last partition is free at least"
    assert len(found) >= projected.head.seq // COMMITS
    assert await ranges(read_model.connection, TASKS_EVENT) == found, "all tables have the same ranges"
    used = await read_model.connection.fetchval(f"SELECT count(DISTINCT tableoid) FROM {SCHEMA}.events")
    assert used > 3
    assert await read_model.agrees(projected)


async def test_there_is_no_default_partition(projected, read_model):
    defaults = "SELECT count(*) FROM pg_class WHERE pg_get_expr(relpartbound, oid) = 'DEFAULT'"
    assert await read_model.connection.fetchval(defaults) == 0


async def test_every_partition_has_the_indices_of_its_table(projected, read_model):
    counted = await read_model.connection.fetch(
        "SELECT count(*) AS indices FROM pg_index i JOIN pg_inherits h ON h.inhrelid = i.indrelid "
        f"WHERE h.inhparent = '{SCHEMA}.events'::regclass GROUP BY i.indrelid"
    )
    assert {row["indices"] for row in counted} == {len(EVENTS.indices) + 1}


async def test_reading_does_not_hold_up_a_new_partition(projected, dsn, read_model):
    """Attached, not created in place: that would wait for every reader, and all others behind it."""
    before = await ranges(read_model.connection)
    async with connect(dsn, "a slow reader") as reader, reader.transaction():
        await reader.fetch(f"SELECT * FROM {SCHEMA}.events LIMIT 1")
        await projected.flip(commits=3 * COMMITS)

        async def there():
            return await read_model.checkpoint() == projected.head

        await eventually(there)
    assert len(await ranges(read_model.connection)) > len(before)


async def test_two_projectors_that_need_the_same_partition_make_it_once(projected, dsn, read_model):
    async with connect(dsn, "one") as one, connect(dsn, "two") as two:
        both = [TablePartitions(connection, FLEET_PROJECTION) for connection in (one, two)]
        await asyncio.gather(*(partitions.open() for partitions in both))
        await asyncio.gather(*(partitions.reach(1_000) for partitions in both))
    found = await ranges(read_model.connection)
    assert found[-1][0] == 1_001, "one partition reaches over commits that do not exist"
    assert len(found) == len(set(found))


async def test_a_partition_that_is_not_needed_yet_waits_for_nobody(projected, dsn, read_model):
    found = await ranges(read_model.connection)
    async with connect(dsn, "a change by hand") as other, connect(dsn, "projector") as connection:
        partitions = TablePartitions(connection, FLEET_PROJECTION)
        await partitions.open()
        await partitions.reach(projected.head.seq)
        async with other.transaction():
            await other.execute(f"LOCK TABLE {SCHEMA}.events IN SHARE UPDATE EXCLUSIVE MODE")
            await partitions.reach(found[-1][1] - 1)
            assert await ranges(read_model.connection) == found
        await partitions.reach(found[-1][1] - 1)
    assert len(await ranges(read_model.connection)) == len(found) + 1


async def test_verify_and_rebuild_go_over_all_partitions(projected, dsn, read_model):
    assert total((await verify(FLEET_PROJECTION, [projected.log], dsn)).tables) == 0
    async with Rebuild(FLEET_PROJECTION, [projected.log], dsn) as rebuild:
        await rebuild.fold()
        _, tables = await rebuild.diff()
        assert total(tables) == 0
        await rebuild.swap()
    await projected.flip(commits=2 * COMMITS)

    async def there():
        return await read_model.checkpoint() == projected.head

    await eventually(there)
    assert await read_model.agrees(projected)


async def test_the_width_of_a_partition_follows_the_number_of_events_in_a_commit(dsn, read_model, monkeypatch):
    monkeypatch.setattr(table_partitions, "MEASURED_COMMITS_MIN", 1)
    await read_model.connection.execute(
        "INSERT INTO drover.checkpoints (schema, partition, context, seq, n) VALUES ('rm_x', 'main', 'fleet', 50, 1000)"
    )
    partitions = TablePartitions(read_model.connection, FLEET_PROJECTION)
    assert await partitions._commits() == COMMITS * table_partitions.EVENTS_PER_COMMIT / 20
