"""A table that somebody changed by hand is found, named and healed; and nobody who reads notices the rebuild."""

from __future__ import annotations

import asyncio
import re

import asyncpg
import pytest

from drover.postgres.pool import connect
from drover.projection import catch_up
from drover.projection.difference import total
from drover.projection.errors import ReadModelMissing, RebuildBusy
from drover.projection.rebuild import Rebuild
from drover.projection.verify import verify
from drover.projector.app import Projector
from drover.projector.fleet import FLEET_PROJECTION
from drover.readmodel.form import placed
from drover.testing.waiting import eventually

SHADOW, OLD = f"{FLEET_PROJECTION.schema}__shadow", f"{FLEET_PROJECTION.schema}__old"
CHANGE = placed("UPDATE rm_fleet.device_rows SET group_id = 'P9-G9' WHERE serial_number = 'SERIAL000003'")
REMOVE = placed("DELETE FROM rm_fleet.events WHERE n = 7")
ADD = placed(
    'INSERT INTO rm_fleet.pc_rows SELECT (jsonb_populate_record(p, \'{"id": "pc-ghost"}\')).* '
    "FROM rm_fleet.pc_rows p LIMIT 1"
)


@pytest.fixture
async def projected(farm, dsn, read_model):
    await farm.register(phones=45)
    await farm.flip(commits=30)
    async with Projector(farm.log_of, dsn, projections=[FLEET_PROJECTION]):

        async def there():
            return await read_model.checkpoint() == farm.head

        await eventually(there)
        yield farm


async def by_hand(dsn, *statements):
    async with connect(dsn, "somebody") as connection:
        for statement in statements:
            assert not (await connection.execute(statement)).endswith(" 0"), statement


def found(tables):
    return {
        (table.table, example.kind, example.key, tuple(example.columns))
        for table in tables
        for example in table.examples
    }


@pytest.mark.req("EV-06")
async def test_a_read_model_that_is_as_the_log_says_has_no_difference(projected, dsn):
    seen = []
    report = await verify(FLEET_PROJECTION, [projected.log], dsn, lambda done, of: seen.append((done, of)))
    assert total(report.tables) == 0
    assert report.events == projected.head.n
    assert report.positions == {"main": projected.head.seq}
    assert seen[-1] == (projected.head.n, projected.head.n)
    assert sum(table.rows for table in report.tables) > projected.head.n


@pytest.mark.req("EV-06")
async def test_rows_changed_removed_or_added_by_hand_are_found_and_named(projected, dsn):
    await by_hand(dsn, CHANGE, REMOVE, ADD)
    report = await verify(FLEET_PROJECTION, [projected.log], dsn)
    assert total(report.tables) == 3
    (changed,) = (e for t in report.tables for e in t.examples if e.kind == "differs")
    assert (changed.table, changed.columns) == ("device_rows", {"group_id": ("P1-G1", "P9-G9")})
    kinds = {(table, kind) for table, kind, _, _ in found(report.tables)}
    assert kinds == {("device_rows", "differs"), ("events", "missing"), ("pc_rows", "extra")}


@pytest.mark.req("EV-06")
async def test_rows_that_do_not_fit_into_memory_are_verified_as_well(projected, dsn):
    assert total((await verify(FLEET_PROJECTION, [projected.log], dsn, rows_max=2)).tables) == 0
    await by_hand(dsn, CHANGE, placed("DELETE FROM rm_fleet.device_rows WHERE serial_number = 'SERIAL000001'"))
    report = await verify(FLEET_PROJECTION, [projected.log], dsn, rows_max=2)
    kinds = {(table, kind) for table, kind, _, _ in found(report.tables)}
    assert kinds == {("device_rows", "differs"), ("device_rows", "missing")}
    assert total(report.tables) == 2


async def test_what_was_never_projected_cannot_be_verified(farm, dsn):
    await by_hand(dsn)
    with pytest.raises(ReadModelMissing):
        await verify(FLEET_PROJECTION, [farm.log], dsn)


@pytest.mark.req("EV-06")
async def test_a_rebuild_names_what_differs_and_heals_it(projected, dsn, read_model):
    await by_hand(dsn, CHANGE, REMOVE, ADD)
    wrong = found((await verify(FLEET_PROJECTION, [projected.log], dsn)).tables)
    async with Rebuild(FLEET_PROJECTION, [projected.log], dsn) as rebuild:
        await rebuild.fold()
        _, tables = await rebuild.diff()
        assert found(tables) == wrong, "the same rows, by both ways"
        await rebuild.swap()
    assert total((await verify(FLEET_PROJECTION, [projected.log], dsn)).tables) == 0
    assert await read_model.agrees(projected)


@pytest.mark.req("EV-06")
async def test_the_projector_goes_on_after_the_swap_and_so_does_history(projected, dsn, read_model):
    async with Rebuild(FLEET_PROJECTION, [projected.log], dsn) as rebuild:
        await rebuild.fold()
        await projected.flip(commits=5)  # life goes on meanwhile
        await rebuild.diff()
        await projected.flip(commits=5)
        await rebuild.swap()
    await projected.flip(commits=5)

    async def there():
        return await read_model.checkpoint() == projected.head

    await eventually(there)
    assert await read_model.agrees(projected)


@pytest.mark.req("EV-06")
async def test_a_projector_that_rests_during_the_swap_forgets_the_rows_that_it_had_loaded(farm, dsn, read_model):
    async def there():
        return await read_model.checkpoint() == farm.head

    await farm.register(phones=5)
    async with Projector(farm.log_of, dsn, projections=[FLEET_PROJECTION]):
        await eventually(there)
    await by_hand(dsn, CHANGE)
    async with Projector(farm.log_of, dsn, projections=[FLEET_PROJECTION]):
        await farm.flip(commits=1, events=5)  # the wrong row is loaded, and kept
        await eventually(there)
        async with Rebuild(FLEET_PROJECTION, [farm.log], dsn) as rebuild:
            await rebuild.fold()
            await rebuild.swap()
        await farm.flip(commits=1, events=5)
        await eventually(there)
        assert await read_model.agrees(farm)


@pytest.mark.req("EV-06")
async def test_no_read_fails_while_the_schemas_are_swapped(projected, dsn):
    failures, reads = [], 0
    stop = asyncio.Event()

    async def reading():
        nonlocal reads
        async with connect(dsn, "a reader") as connection:
            while not stop.is_set():
                try:
                    rows = await connection.fetch(placed("SELECT * FROM rm_fleet.devices ORDER BY id"))
                    assert len(rows) == 45
                    reads += 1
                except Exception as error:
                    failures.append(error)

    readers = [asyncio.create_task(reading()) for _ in range(3)]
    await eventually(lambda: reads > 3)
    for _ in range(3):
        async with Rebuild(FLEET_PROJECTION, [projected.log], dsn) as rebuild:
            await rebuild.fold()
            await rebuild.swap()
    before = reads
    await eventually(lambda: reads > before + 3)
    stop.set()
    await asyncio.gather(*readers)
    assert failures == []


async def test_a_rebuild_that_was_interrupted_goes_on_where_it_was(projected, dsn):
    async with Rebuild(FLEET_PROJECTION, [projected.log], dsn) as rebuild:
        await rebuild.fold()
    folded = []
    async with Rebuild(FLEET_PROJECTION, [projected.log], dsn) as again:
        await again.fold(lambda done, of: folded.append(done))
        assert folded == [], "nothing is folded twice"
        _, tables = await again.diff()
        assert total(tables) == 0
        await again.drop()
    async with connect(dsn, "a look") as connection:
        assert await connection.fetchval("SELECT to_regnamespace($1)", SHADOW) is None


async def schemas(dsn):
    async with connect(dsn, "a look") as connection:
        rows = await connection.fetch("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'rm\\_fleet%'")
        return {row["nspname"] for row in rows}


async def indices(dsn, schema):
    async with connect(dsn, "a look") as connection:
        rows = await connection.fetch("SELECT indexdef FROM pg_indexes WHERE schemaname = $1", schema)
        # PostgreSQL itself names the indices of partitions, and numbers those that are alike as they come.
        return sorted(re.sub(r"INDEX \w+_from_\w+ ON", "INDEX ON", row["indexdef"]) for row in rows)


async def test_the_new_read_model_has_every_index_of_the_old_one(projected, dsn):
    before = await indices(dsn, FLEET_PROJECTION.schema)
    async with Rebuild(FLEET_PROJECTION, [projected.log], dsn) as rebuild:
        await rebuild.fold()
        await rebuild.swap()
    assert await indices(dsn, FLEET_PROJECTION.schema) == before
    assert len(before) > 20


async def interrupted(projected, dsn, monkeypatch):
    """A rebuild that dies when it has written some of it, without a word to anybody: as `kill -9` does it."""
    monkeypatch.setattr(catch_up, "BATCH_EVENTS_MAX", 20)
    dying = Rebuild(FLEET_PROJECTION, [projected.log], dsn)

    def die(done, of):
        if done > 60:
            dying._connection.terminate()

    async with dying:
        backend = dying._connection.get_server_pid()
        with pytest.raises(asyncpg.InterfaceError):
            await dying.fold(die)
    async with connect(dsn, "a look") as connection:

        async def gone():
            return not await connection.fetchval("SELECT count(*) FROM pg_stat_activity WHERE pid = $1", backend)

        await eventually(gone)  # until then PostgreSQL keeps its lock


@pytest.mark.req("EV-06")
async def test_a_rebuild_that_died_midway_goes_on_and_says_where(projected, dsn, monkeypatch):
    await interrupted(projected, dsn, monkeypatch)
    seen = []
    async with Rebuild(FLEET_PROJECTION, [projected.log], dsn) as again:
        await again.fold(lambda done, of: seen.append(done))
        assert 60 < again.resumed_at < projected.head.n
        assert seen[0] > again.resumed_at, "what it had is not folded again"
        assert seen[-1] == projected.head.n
        _, tables = await again.diff()
        assert total(tables) == 0
        await again.swap()
    assert total((await verify(FLEET_PROJECTION, [projected.log], dsn)).tables) == 0
    assert await schemas(dsn) == {FLEET_PROJECTION.schema}
    assert len(await indices(dsn, FLEET_PROJECTION.schema)) > 20, (
        "those that were left for the end are made by whoever ends it"
    )


async def test_a_shadow_of_another_form_is_begun_anew(projected, dsn, monkeypatch):
    await interrupted(projected, dsn, monkeypatch)
    await by_hand(dsn, "UPDATE drover.read_models SET hash = 'other', version = 99 WHERE schema LIKE '%shadow'")
    async with Rebuild(FLEET_PROJECTION, [projected.log], dsn) as again:
        await again.fold()
        assert again.resumed_at == 0
        assert total((await again.diff())[1]) == 0
        await again.drop()


async def test_a_shadow_that_is_ahead_of_the_log_is_begun_anew(projected, dsn, monkeypatch):
    await interrupted(projected, dsn, monkeypatch)
    await by_hand(dsn, "UPDATE drover.checkpoints SET seq = 999999 WHERE schema LIKE '%shadow'")
    async with Rebuild(FLEET_PROJECTION, [projected.log], dsn) as again:
        await again.fold()
        assert again.resumed_at == 0
        assert total((await again.diff())[1]) == 0
        await again.drop()


async def test_old_tables_are_dropped_when_the_last_who_reads_them_has_ended_and_not_before(projected, dsn):
    rebuild = Rebuild(FLEET_PROJECTION, [projected.log], dsn)
    async with rebuild, connect(dsn, "a slow reader") as reader:
        await rebuild.fold()
        async with reader.transaction():
            cursor = await reader.cursor(placed("SELECT * FROM rm_fleet.events"))
            await cursor.fetch(1)
            swapping = asyncio.create_task(rebuild.swap())

            async def put_aside():
                return OLD in await schemas(dsn)

            await eventually(put_aside)
            rest = await cursor.fetch(100_000)
            assert len(rest) == projected.head.n - 1, "whoever reads reads on"
            assert await put_aside()
        await swapping
    assert await schemas(dsn) == {FLEET_PROJECTION.schema}


async def test_what_a_killed_one_put_aside_is_in_nobodys_way(projected, dsn):
    await by_hand(dsn)
    async with connect(dsn, "a killed one") as connection:
        await connection.execute(f"CREATE SCHEMA {OLD}; CREATE TABLE {OLD}.events (n int)")
    async with Rebuild(FLEET_PROJECTION, [projected.log], dsn) as rebuild:
        await rebuild.fold()
        await rebuild.swap()
    assert await schemas(dsn) == {FLEET_PROJECTION.schema}


@pytest.mark.req("EV-06")
async def test_a_rebuild_reads_the_log_and_tells_nobody(projected, dsn, monkeypatch):
    """No effect is repeated: it has nothing to command with, and the log is as it was."""

    async def refuse(*_):
        raise AssertionError("a rebuild must not write to the log")

    before = (await projected.log.last()).seq
    monkeypatch.setattr(projected.log, "append", refuse)
    async with Rebuild(FLEET_PROJECTION, [projected.log], dsn) as rebuild:
        await rebuild.fold()
        await rebuild.diff()
        await rebuild.swap()
    assert (await projected.log.last()).seq == before


async def test_two_rebuilds_of_one_read_model_do_not_meet(projected, dsn):
    async with Rebuild(FLEET_PROJECTION, [projected.log], dsn):
        with pytest.raises(RebuildBusy):
            await Rebuild(FLEET_PROJECTION, [projected.log], dsn).__aenter__()
