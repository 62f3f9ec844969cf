"""A rebuild is on record while it works and afterwards, and goes on where the record cannot be kept."""

from __future__ import annotations

import pytest

from drover.api.reads.queries import QUERIES
from drover.api.reads.system import make_rebuild
from drover.postgres.pool import connect
from drover.projection import rebuild_progress
from drover.projection.difference import Difference, TableReport
from drover.projection.rebuild_progress import REBUILDS_KEPT, on_record
from drover.testing.waiting import eventually

pytestmark = pytest.mark.req("EV-06")


@pytest.fixture
async def look(dsn):
    async with connect(dsn, "somebody") as connection:

        async def look():
            return [make_rebuild(row) for row in await connection.fetch(QUERIES["rebuilds"])]

        look.connection = connection
        yield look


async def test_its_progress_its_differences_and_its_end_can_be_looked_at(dsn, look, monkeypatch):
    monkeypatch.setattr(rebuild_progress, "WRITE_EVERY_S", 0.01)
    difference = Difference("devices", "1", "differs", {"group_id": ("P1-G1", "P9-G9")})
    async with on_record(dsn, "fleet", dry_run=False) as book:
        book.folded(50, 200)

        async def told():
            (now,) = await look()
            return (now.stage, now.folded, now.events, now.ended_at) == ("folding", 50, 200, None)

        await eventually(told)
        await book.comparing()
        assert (await look())[0].stage == "comparing"
        await book.compared([TableReport("devices", rows=10, different=1, examples=[difference])])
        await book.swapping()
        await book.ended({"main": 7}, is_swapped=True)
    (done,) = await look()
    assert (done.projection, done.stage, done.positions, done.error) == ("fleet", "swapped", {"main": 7}, None)
    assert done.ended_at is not None
    assert done.tables[0].different == 1
    assert done.tables[0].examples[0].columns == {"group_id": ("P1-G1", "P9-G9")}


async def test_what_stops_it_is_on_record(dsn, look):
    with pytest.raises(RuntimeError):
        async with on_record(dsn, "fleet", dry_run=True):
            raise RuntimeError("an unknown event")
    (failed,) = await look()
    assert (failed.stage, failed.error, failed.dry_run) == ("failed", "an unknown event", True)


async def test_one_that_gives_no_sign_of_life_was_interrupted(dsn, look):
    async with on_record(dsn, "fleet", dry_run=False):
        pass  # as if its machine had gone
    await look.connection.execute("UPDATE drover.rebuilds SET updated_at = now() - interval '1 minute'")
    assert [one.stage for one in await look()] == ["interrupted"]


async def test_the_oldest_are_forgotten(dsn, look):
    await look.connection.execute(
        "INSERT INTO drover.rebuilds (projection, by, dry_run) SELECT 'fleet', 'x', false FROM generate_series(1, $1)",
        REBUILDS_KEPT,
    )
    async with on_record(dsn, "fleet", dry_run=False):
        pass
    assert await look.connection.fetchval("SELECT count(*) FROM drover.rebuilds") == REBUILDS_KEPT


async def test_it_goes_on_where_the_record_cannot_be_kept(dsn, look):
    await look.connection.execute("DROP TABLE drover.rebuilds")
    async with on_record(dsn, "fleet", dry_run=False) as book:
        book.folded(1, 2)
        await book.comparing()
        await book.ended({"main": 1}, is_swapped=True)
