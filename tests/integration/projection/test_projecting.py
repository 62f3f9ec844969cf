"""A log becomes rows: completely, once, in the form that clients read, and again from scratch."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from prometheus_client import REGISTRY

from drover.bus.telemetry import Beat
from drover.domain.fleet.events import DeviceCameOnline
from drover.eventlog.log import Partition
from drover.postgres.pool import open_pool
from drover.projection import store
from drover.projection.difference import total
from drover.projection.positions import Positions
from drover.projection.presence import PresenceWriter
from drover.projection.projection import Tables
from drover.projection.runtime import Limits, Runner
from drover.projection.verify import verify
from drover.projector.app import Projector
from drover.projector.fleet import FLEET_PROJECTION
from drover.projector.fleet.presence import FLEET_PRESENCE
from drover.readmodel.column import keys_first
from drover.readmodel.form import placed
from drover.testing.waiting import eventually

WAIT_S = 60.0
LABELS = {"context": "fleet", "partition": "main"}
SMALL = Limits(batch_events_max=20, cached_rows_max=10)
"""Many batches, and a cache that forgets: rows must be loaded again."""


class Follower:
    """Hears announcements, as the edges do."""

    def __init__(self) -> None:
        self.positions = Positions([Partition("fleet")])

    async def announce(self, context: str, partition: str, seq: int) -> None:
        self.positions.observe(context, partition, seq)

    async def reaches(self, seq: int) -> None:
        assert await self.positions.wait("fleet", seq, WAIT_S)


@pytest.fixture
def follower() -> Follower:
    return Follower()


@pytest.mark.parametrize("one_by_one_max", [0, 10_000], ids=["by COPY", "one by one"])
async def test_every_event_becomes_a_row_and_every_row_is_as_the_log_says(
    farm, dsn, read_model, follower, monkeypatch, one_by_one_max
) -> None:
    monkeypatch.setattr(store, "SMALL_ROWS_MAX", one_by_one_max)
    await farm.register(phones=45)
    await farm.flip(commits=30)
    async with Projector(farm.log_of, dsn, follower.announce, limits=SMALL) as projector:
        await follower.reaches(farm.head.seq)
        await farm.flip(commits=3)
        await follower.reaches(farm.head.seq)
        assert projector.stopped == []
    assert await read_model.checkpoint() == farm.head
    assert await read_model.agrees(farm)
    assert REGISTRY.get_sample_value("drover_projection_position", LABELS) == farm.head.seq
    assert REGISTRY.get_sample_value("drover_projection_behind_commits", LABELS) == 0


async def test_positions_that_no_writer_wrote_are_passed_over(farm, dsn, read_model, follower) -> None:
    await farm.register(phones=3)
    await farm.commit_raw(b"", 0)
    await farm.flip(commits=2)
    await farm.commit_raw(b"", 0)
    async with Projector(farm.log_of, dsn, follower.announce, limits=SMALL) as projector:
        await follower.reaches(farm.head.seq)
        assert projector.stopped == []
    assert await read_model.checkpoint() == farm.head
    assert await read_model.agrees(farm)
    assert total((await verify(FLEET_PROJECTION, [farm.log], dsn)).tables) == 0


async def test_a_projector_goes_on_where_the_last_one_stopped(farm, dsn, read_model, follower) -> None:
    await farm.register(phones=30)
    for _ in range(3):
        await farm.flip(commits=4)
        async with Projector(farm.log_of, dsn, follower.announce, limits=SMALL):
            await follower.reaches(farm.head.seq)
    assert await read_model.agrees(farm)


@pytest.mark.req("EV-03")
async def test_a_rebuild_from_the_log_gives_identical_rows(farm, dsn, read_model, follower) -> None:
    await farm.register(phones=45)
    await farm.flip(commits=30)
    async with Projector(farm.log_of, dsn, follower.announce, limits=SMALL):
        await follower.reaches(farm.head.seq)
    before = await read_model.rows()
    assert len(before["events"]) == farm.head.n
    await read_model.connection.execute(f"DROP SCHEMA {FLEET_PROJECTION.schema} CASCADE")
    again = Follower()
    async with Projector(farm.log_of, dsn, again.announce):
        await again.reaches(farm.head.seq)
    assert await read_model.rows() == before


async def _is_at(read_model, farm) -> bool:
    return await read_model.checkpoint() == farm.head


async def test_the_views_show_devices_with_their_presence_and_pcs_with_their_counts(
    farm, dsn, read_model, follower
) -> None:
    await farm.register(phones=3)
    await farm.commit(DeviceCameOnline(str(UUID(int=1))))
    seen_at = datetime(2026, 4, 1, tzinfo=UTC)
    async with (
        Projector(farm.log_of, dsn, follower.announce),
        open_pool(dsn, "test") as pool,
        PresenceWriter(pool, FLEET_PRESENCE) as presence,
    ):
        await follower.reaches(farm.head.seq)
        presence.note([Beat(str(UUID(int=1)), seen_at, {"battery": 80})])
    device = await read_model.connection.fetchrow(
        placed("SELECT * FROM rm_fleet.devices WHERE serial_number = 'SERIAL000000'")
    )
    assert set(device.keys()) == {
        "id",
        "serial_number",
        "group_id",
        "pc_id",
        "status",
        "capabilities",
        "last_seen_at",
        "error_code",
        "error_until",
        "error_condition",
        "held_until",
        "created_at",
        "updated_at",
    }
    assert (device["status"], device["last_seen_at"], device["capabilities"]) == ("online", seen_at, ["youtube"])
    pc = await read_model.connection.fetchrow(placed("SELECT * FROM rm_fleet.pcs"))
    assert (pc["id"], pc["capacity"], pc["device_count"], pc["online"], pc["offline"]) == ("pc-0", 20, 3, 1, 2)


async def test_the_described_tables_are_those_of_the_ddl(farm, dsn, read_model, follower) -> None:
    await farm.register(phones=1)
    async with Projector(farm.log_of, dsn, follower.announce):
        await follower.reaches(farm.head.seq)
    for table in FLEET_PROJECTION.tables:
        found = await read_model.connection.fetch(
            placed(
                "SELECT attname, format_type(atttypid, NULL) AS type FROM pg_attribute"
                " WHERE attrelid = ('rm_fleet.' || $1)::regclass AND attnum > 0 ORDER BY attnum"
            ),
            table.name,
        )
        columns = keys_first(table.fields, table.key)
        described = [(column.name, await _canonical(read_model, column.type)) for column in columns]
        assert [(r["attname"], r["type"]) for r in found] == described


async def _canonical(read_model, type_: str) -> str:
    return await read_model.connection.fetchval("SELECT format_type($1::regtype, NULL)", type_)


async def is_free(connection) -> bool:
    """Whether nobody holds an advisory lock in this database; the server has others, too."""
    return not await connection.fetchval(
        "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database"
        " WHERE locktype = 'advisory' AND datname = current_database()"
    )


async def test_an_unknown_event_stops_its_projection_with_everything_before_it_readable(
    farm, dsn, read_model, follower
) -> None:
    await farm.register(phones=3)
    good = farm.head
    await farm.commit_raw(b'{"type":"PhoneSang","n":%d,"at":"2026-03-01T00:00:00Z"}\n' % (good.n + 1), 1)
    await farm.register(phones=1)
    async with Runner(FLEET_PROJECTION, farm.log, dsn, follower.announce) as runner:
        stopped = await eventually(lambda: runner.stopped)
        assert (stopped.reason, stopped.details["seq"]) == ("unreadable", good.seq + 1)
        assert REGISTRY.get_sample_value("drover_projection_stopped", LABELS) == 1
        assert not runner.active
        # It gave the lock back: a newer reader, which knows the type, can take over.
        # PostgreSQL does so when it has noticed the end of the session.
        await eventually(lambda: is_free(read_model.connection))
    assert await read_model.checkpoint() == good
    assert await read_model.agrees(farm)


async def test_rows_that_postgres_refuses_stop_the_projection_and_say_so(farm, dsn, read_model) -> None:
    def fold_badly(tables: Tables, event, raw: str, position) -> None:
        FLEET_PROJECTION.fold(tables, event, "no json", position)

    await farm.register(phones=1)
    async with Runner(replace(FLEET_PROJECTION, fold=fold_badly), farm.log, dsn) as runner:
        stopped = await eventually(lambda: runner.stopped)
    assert stopped.reason == "refused"
    assert (await read_model.checkpoint()).seq == 0


async def test_an_event_that_the_fold_cannot_take_stops_it_with_its_place(farm, dsn) -> None:
    await farm.register(phones=1)
    await farm.commit(DeviceCameOnline(str(UUID(int=1))), DeviceCameOnline(str(UUID(int=99))))
    async with Runner(FLEET_PROJECTION, farm.log, dsn) as runner:
        stopped = await eventually(lambda: runner.stopped)
    assert stopped.reason == "fold"
    assert (stopped.details["seq"], stopped.details["line"], stopped.details["type"]) == (2, 1, "DeviceCameOnline")


async def test_a_log_that_is_shorter_than_its_read_model_is_not_followed(farm, dsn, follower) -> None:
    await farm.register(phones=3)
    async with Runner(FLEET_PROJECTION, farm.log, dsn, follower.announce):
        await follower.reaches(farm.head.seq)
    other = type(farm)()
    await other.register(phones=1)
    async with Runner(FLEET_PROJECTION, other.log, dsn) as runner:
        stopped = await eventually(lambda: runner.stopped)
    assert (stopped.reason, stopped.details["seq"]) == ("another_history", 3)
    assert "it is at position 3, and the log ends at 1" in stopped.details["what"]


async def test_an_announcement_that_fails_does_not_hold_the_projection_up(farm, dsn, read_model) -> None:
    async def deaf(context: str, partition: str, seq: int) -> None:
        raise ConnectionError

    await farm.register(phones=3)
    async with Runner(FLEET_PROJECTION, farm.log, dsn, deaf):
        await eventually(lambda: _is_at(read_model, farm))


async def test_presence_keeps_the_newest_sign_of_each_device(dsn, read_model) -> None:
    early, late = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    phone, other = str(UUID(int=1)), str(UUID(int=2))
    async with open_pool(dsn, "test") as pool:
        async with PresenceWriter(pool, FLEET_PRESENCE) as presence:
            presence.note([Beat(phone, late, {"battery": 80}), Beat(other, late, {"said": "\0"})])
            presence.note([Beat("no uuid", late)])
            presence.note([Beat(phone, early, {"battery": 90})])
        async with PresenceWriter(pool, FLEET_PRESENCE) as presence:
            presence.note([Beat(phone, late), Beat(other, early, {"said": "late"})])
    rows = await read_model.connection.fetch("SELECT * FROM tel_fleet.presence ORDER BY device_id")
    assert [(r["last_seen_at"], r["reported"]) for r in rows] == [(late, '{"battery": 80}'), (late, '{"said": "�"}')]


async def test_presence_holds_a_bounded_number_of_devices_while_postgres_is_away(tmp_path) -> None:
    seen_at = datetime(2026, 1, 1, tzinfo=UTC)
    async with (
        open_pool(f"postgresql:///x?host={tmp_path}", "test") as pool,
        PresenceWriter(pool, FLEET_PRESENCE, devices_waiting_max=2) as presence,
    ):
        for number in range(5):
            presence.note([Beat(str(UUID(int=number)), seen_at)])
        await asyncio.sleep(0)
        assert presence.waiting <= 2
