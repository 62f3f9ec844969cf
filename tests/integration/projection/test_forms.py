"""Two forms of a read model side by side: each is complete for those who read it, whatever happens to the other."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime

import asyncpg
import pytest

from drover.domain.fleet.events import FleetEvent, PcRegistered
from drover.eventlog.log import Partition
from drover.postgres.pool import connect, open_pool
from drover.projection import catch_up, readable
from drover.projection.difference import total
from drover.projection.old_forms import drop_unused_forms
from drover.projection.projection import Projection
from drover.projection.readable import ReadableForms, ReadModelRebuilding
from drover.projection.reader_views import ensure_reader_views
from drover.projection.rebuild import Rebuild
from drover.projection.runtime import Runner
from drover.projection.verify import verify
from drover.projector.fleet import FLEET_PROJECTION
from drover.readmodel.row import Row
from drover.readmodel.table import KeyedTable
from drover.service.tasks import in_background
from drover.testing.waiting import eventually
from tools.read_model_sql import table_ddl

OTHER = "rm_fleet_0000000f"
NEXT = replace(FLEET_PROJECTION, schema=OTHER, version=FLEET_PROJECTION.version + 1)
"""The read model of the next release, in a schema of its own."""
AGO = "UPDATE drover.read_models SET used_at = now() - interval '{}' WHERE schema = '{}'"

pytestmark = pytest.mark.req("YR-08")


class Pc(Row, frozen=True):
    id: str
    capacity: int


class WiderPc(Row, frozen=True):
    id: str
    capacity: int
    seen_at: datetime | None


def pcs(row: type[Row], view: str, version: int) -> Projection:
    """A small read model of PCs, in two versions that share a schema: the second one has a column more."""
    table = KeyedTable(name="pc_rows", key=("id",), row=row)

    def fold(tables, event, raw, position):
        if isinstance(event, PcRegistered):
            later = {"seen_at": event.at} if row is WiderPc else {}
            tables.put(table, row(id=event.pc_id, capacity=event.capacity, **later))

    every = (member for member in FleetEvent.__args__)
    return Projection(
        context="fleet",
        name="pcs",
        schema=FLEET_PROJECTION.schema,
        ddl=table_ddl(table) + view,
        tables=(table,),
        fold=fold,
        reads=dict.fromkeys(every, ()),
        events=FleetEvent,
        version=version,
    )


NARROW = pcs(Pc, "CREATE VIEW pcs AS\nSELECT p.id,\n       p.capacity\nFROM pc_rows p;\n", 1)
WIDE = pcs(
    WiderPc,
    "CREATE INDEX pc_seen ON pc_rows (seen_at);\n"
    "CREATE VIEW pcs AS\nSELECT p.seen_at,\n       p.id,\n       p.capacity\nFROM pc_rows p;\n",
    2,
)


@asynccontextmanager
async def watching(dsn):
    """What an edge knows of its read models."""
    async with open_pool(dsn, "edge") as pool:
        yield ReadableForms(pool, {"fleet": [Partition("fleet")]})


async def is_readable(forms) -> bool:
    await forms.look()
    return not forms.waiting()


async def count(read_model, schema: str) -> int:
    return await read_model.connection.fetchval(f"SELECT count(*) FROM {schema}.events")


async def caught_up(read_model, schema: str) -> bool:
    return bool(
        await read_model.connection.fetchval(
            "SELECT bool_and(caught_up_at IS NOT NULL) FROM drover.checkpoints WHERE schema = $1", schema
        )
    )


async def at_head(farm, *runners) -> None:
    await eventually(lambda: all(runner.checkpoint == farm.head for runner in runners))


async def test_two_forms_under_load_are_each_complete_for_those_who_read_them(farm, dsn, read_model) -> None:
    await farm.register(phones=45)
    await farm.flip(commits=200)
    serving = FLEET_PROJECTION.schema
    async with Runner(FLEET_PROJECTION, farm.log, dsn) as old:
        await at_head(farm, old)
        counts = {serving: [await count(read_model, serving)], OTHER: [farm.head.n]}
        busy = True

        async def load() -> None:
            while busy:
                await farm.flip(commits=5)
                await at_head(farm, old)

        async with in_background(load()) as loading, Runner(NEXT, farm.log, dsn) as new:
            while len(counts[OTHER]) < 20:
                counts[serving].append(await count(read_model, serving))
                if await caught_up(read_model, OTHER):
                    counts[OTHER].append(await count(read_model, OTHER))
            await eventually(lambda: old.active and new.active)
            busy = False
            await loading
            await at_head(farm, old, new)
    for seen in counts.values():
        assert seen == sorted(seen), "a read was short"
    assert await read_model.agrees(farm)
    assert total((await verify(NEXT, [farm.log], dsn)).tables) == 0


async def test_a_form_that_is_being_built_is_not_read_and_says_how_far_it_is(farm, dsn, monkeypatch) -> None:
    monkeypatch.setattr(readable, "schema_of", lambda context: OTHER)
    held = asyncio.Event()

    async def never_done(connection, projection):
        await held.wait()

    await farm.register(phones=5)
    async with watching(dsn) as forms:
        with monkeypatch.context() as patch:
            patch.setattr(catch_up, "has_all_indices", lambda connection, projection: _no())
            patch.setattr(catch_up, "complete", never_done)
            async with Runner(NEXT, farm.log, dsn) as runner:
                await at_head(farm, runner)
                assert not await is_readable(forms)
                with pytest.raises(ReadModelRebuilding) as caught:
                    await forms.demand(["fleet"])
                assert caught.value.rebuilding.position == farm.head.seq
                await forms.demand(["render"])
                held.set()
                await eventually(lambda: runner.active)
                assert await is_readable(forms)
                await forms.demand(["fleet"])


async def _no() -> bool:
    return False


async def test_a_projector_killed_while_it_builds_a_form_goes_on_and_makes_all_indices(
    farm, dsn, read_model, monkeypatch
) -> None:
    monkeypatch.setattr(catch_up, "BATCH_EVENTS_MAX", 20)
    monkeypatch.setattr(catch_up, "BULK_COMMITS_MIN", 10)
    await farm.register(phones=45)
    await farm.flip(commits=50)
    async with Runner(NEXT, farm.log, dsn) as killed:
        await eventually(lambda: killed.checkpoint.n > 60)
        killed._task.cancel()  # its connections are cut, as the kernel does for a killed process
    assert killed.checkpoint.n < farm.head.n
    assert not await caught_up(read_model, OTHER)
    async with Runner(NEXT, farm.log, dsn) as runner:
        await eventually(lambda: runner.active)
        assert runner.checkpoint == farm.head
    assert total((await verify(NEXT, [farm.log], dsn)).tables) == 0
    indices = "SELECT count(*) FROM pg_indexes WHERE schemaname = $1"
    assert await read_model.connection.fetchval(indices, OTHER) > 20
    assert await read_model.connection.fetchval(
        "SELECT count(*) FROM pg_indexes WHERE schemaname = $1 AND indexname = 'events_at'", OTHER
    )


async def test_after_a_roll_back_nobody_reads_the_earlier_form_before_it_has_caught_up(farm, dsn, read_model) -> None:
    await farm.register(phones=5)
    async with Runner(FLEET_PROJECTION, farm.log, dsn) as first, watching(dsn) as before:
        await eventually(lambda: first.active)
        assert await is_readable(before)
    await read_model.connection.execute(AGO.format("1 hour", FLEET_PROJECTION.schema))
    await farm.flip(commits=50)
    async with watching(dsn) as forms:
        assert not await is_readable(forms)
        async with Runner(FLEET_PROJECTION, farm.log, dsn) as again:
            while not await is_readable(forms):
                pass
            assert await count(read_model, FLEET_PROJECTION.schema) == farm.head.n
            await at_head(farm, again)
    assert await read_model.agrees(farm)


async def test_a_short_absence_of_the_projector_does_not_stop_reads(farm, dsn) -> None:
    await farm.register(phones=5)
    async with watching(dsn) as forms:
        async with Runner(FLEET_PROJECTION, farm.log, dsn) as runner:
            await eventually(lambda: runner.active)
        await farm.flip(commits=5)
        assert await is_readable(forms)


async def test_a_nullable_column_is_added_in_place_while_the_older_program_goes_on(farm, dsn, read_model) -> None:
    fetch = read_model.connection.fetch
    schema = FLEET_PROJECTION.schema
    await farm.register(phones=20)
    async with Runner(NARROW, farm.log, dsn) as old:
        await at_head(farm, old)
    tables = await fetch("SELECT oid FROM pg_class WHERE relname = 'pc_rows'")
    async with Runner(WIDE, farm.log, dsn) as new:
        await eventually(lambda: new.active)
        await farm.register(phones=20)
        await at_head(farm, new)
    assert await fetch("SELECT oid FROM pg_class WHERE relname = 'pc_rows'") == tables, "it was not folded anew"
    rows = await fetch(f"SELECT * FROM {schema}.pcs ORDER BY id")
    assert [*rows[0].keys()] == ["id", "capacity", "seen_at"]
    assert [row["seen_at"] is None for row in rows] == [True, False]
    assert await fetch("SELECT FROM pg_indexes WHERE indexname = 'pc_seen'")
    assert total((await verify(WIDE, [farm.log], dsn)).tables) == 0, "null in rows of earlier events is no difference"
    async with Runner(NARROW, farm.log, dsn) as old:
        await farm.register(phones=20)
        await at_head(farm, old)
    assert [row["seen_at"] is None for row in await fetch(f"SELECT * FROM {schema}.pcs ORDER BY id")] == [
        True,
        False,
        True,
    ]
    async with Rebuild(WIDE, [farm.log], dsn) as rebuild:
        await rebuild.fold()
        await rebuild.swap()
    assert not await fetch(f"SELECT FROM {schema}.pc_rows WHERE seen_at IS NULL"), "a rebuild fills it"


async def test_a_difference_in_an_added_column_is_still_found(farm, dsn, read_model) -> None:
    await farm.register(phones=20)
    async with Runner(NARROW, farm.log, dsn) as old:
        await at_head(farm, old)
    async with Runner(WIDE, farm.log, dsn) as new:
        await eventually(lambda: new.active)
    await read_model.connection.execute(f"UPDATE {FLEET_PROJECTION.schema}.pc_rows SET seen_at = now()")
    assert total((await verify(WIDE, [farm.log], dsn)).tables) == 1


async def test_a_form_that_nobody_uses_for_a_day_is_dropped(farm, dsn, read_model) -> None:
    execute = read_model.connection.execute
    await farm.register(phones=5)
    for projection in (FLEET_PROJECTION, NEXT):
        async with Runner(projection, farm.log, dsn) as runner:
            await eventually(lambda runner=runner: runner.active)
    async with connect(dsn, "test") as connection:
        assert await drop_unused_forms(connection, NEXT) == []
        await execute(AGO.format("2 days", FLEET_PROJECTION.schema))
        assert await drop_unused_forms(connection, NEXT) == [], "its checkpoint moved a moment ago"
        await execute("UPDATE drover.checkpoints SET updated_at = now() - interval '2 days'")
        async with Runner(FLEET_PROJECTION, farm.log, dsn) as runner:
            await eventually(lambda: runner.active)
            await execute(AGO.format("2 days", FLEET_PROJECTION.schema))
            assert await drop_unused_forms(connection, NEXT) == [], "a projector holds its lock"
        assert await drop_unused_forms(connection, NEXT) == [FLEET_PROJECTION.schema]
    with pytest.raises(asyncpg.UndefinedTableError):
        await count(read_model, FLEET_PROJECTION.schema)
    assert await count(read_model, OTHER) == farm.head.n


async def test_views_for_sql_readers_switch_when_the_new_form_has_caught_up(farm, dsn, read_model) -> None:
    fetchval, execute = read_model.connection.fetchval, read_model.connection.execute
    source = "SELECT obj_description('readers.devices'::regclass)"
    await farm.register(phones=5)
    async with Runner(FLEET_PROJECTION, farm.log, dsn, reader_schema="readers") as old:
        await eventually(lambda: old.active)
        await execute("CREATE VIEW public.mine AS SELECT id FROM readers.devices")
        async with Runner(NEXT, farm.log, dsn, reader_schema="readers") as new:
            await eventually(lambda: new.active)
            assert (await fetchval(source)).endswith(OTHER)
            async with connect(dsn, "test") as connection:
                await ensure_reader_views(connection, FLEET_PROJECTION, "readers")
            assert (await fetchval(source)).endswith(OTHER), "the older projector does not take them back"
        assert await fetchval("SELECT count(*) FROM public.mine") == 5, "views of others stay"
        await execute(AGO.format("1 hour", OTHER))
        async with connect(dsn, "test") as connection:
            await ensure_reader_views(connection, FLEET_PROJECTION, "readers")
        assert (await fetchval(source)).endswith(FLEET_PROJECTION.schema), "after a roll-back they follow"


async def test_views_for_sql_readers_stay_while_the_new_form_is_being_built(farm, dsn, read_model) -> None:
    source = "SELECT obj_description('readers.devices'::regclass)"
    await farm.register(phones=5)
    async with Runner(FLEET_PROJECTION, farm.log, dsn, reader_schema="readers") as old:
        await eventually(lambda: old.active)
    async with Runner(NEXT, farm.log, dsn) as new:
        await eventually(lambda: new.active)
    await read_model.connection.execute(f"UPDATE drover.checkpoints SET caught_up_at = NULL WHERE schema = '{OTHER}'")
    async with connect(dsn, "test") as connection:
        await ensure_reader_views(connection, NEXT, "readers")
    assert (await read_model.connection.fetchval(source)).endswith(FLEET_PROJECTION.schema)
