"""What goes wrong with Postgres or with other projectors, and that rows and checkpoint agree whatever it was."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import asyncpg
import pytest

from drover.domain.backoff import Backoff
from drover.postgres.migrate import migrate
from drover.postgres.pool import connect
from drover.projection import catch_up, runtime
from drover.projection.batch import BatchTables
from drover.projection.checkpoint import Checkpoint, move_checkpoint
from drover.projection.errors import CheckpointMoved
from drover.projection.read_model import ensure_read_model
from drover.projection.runtime import Limits, Runner
from drover.projection.store import Store
from drover.projector.fleet import FLEET_PROJECTION
from drover.readmodel.fleet.devices import PCS, PcRow
from drover.readmodel.form import placed
from drover.testing.waiting import eventually

AT = datetime(2026, 3, 1, tzinfo=UTC)
SMALL = Limits(batch_events_max=20)
WAITING_FOR_EVENTS = placed("""
SELECT count(*) FROM pg_locks WHERE relation = 'rm_fleet.events'::regclass AND NOT granted
""")


async def _restart_in_mid_batch(own_postgres, farm) -> None:
    """Hold the table `events` so that a batch gets stuck between its checkpoint and its rows; then pull the plug."""
    async with _cut_off(own_postgres.dsn) as holder:
        await holder.execute(placed("BEGIN; LOCK TABLE rm_fleet.events IN SHARE MODE"))
        await farm.flip(commits=10)
        await eventually(lambda: holder.fetchval(WAITING_FOR_EVENTS))
        await own_postgres.restart("immediate")


@asynccontextmanager
async def _cut_off(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection that the test cuts by restarting the server."""
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        connection.terminate()


async def _is_at(dsn: str, look, head: Checkpoint) -> bool:
    async with look(dsn) as read_model:
        return await read_model.checkpoint() == head


async def test_rows_and_checkpoint_agree_when_postgres_dies_in_mid_batch(farm, own_postgres, look) -> None:
    await migrate(own_postgres.dsn)
    await farm.register(phones=30)
    async with Runner(FLEET_PROJECTION, farm.log, own_postgres.dsn, limits=SMALL) as runner:
        await eventually(lambda: runner.checkpoint == farm.head)
        before = farm.head
        await _restart_in_mid_batch(own_postgres, farm)
        async with look(own_postgres.dsn) as read_model:
            assert await read_model.agrees(farm)
        await eventually(lambda: runner.checkpoint == farm.head and runner.active)
    async with look(own_postgres.dsn) as read_model:
        assert await read_model.checkpoint() == farm.head != before
        assert await read_model.agrees(farm)


@pytest.mark.control
async def test_control_with_the_checkpoint_outside_the_transaction_they_disagree(
    farm, own_postgres, look, monkeypatch
) -> None:
    async def write_unsafely(self: Store, changes, old, new) -> None:
        async with self._busy:
            await move_checkpoint(self._connection, FLEET_PROJECTION.schema, "main", old, new)
            async with self._connection.transaction():
                await self.write_rows(changes)

    monkeypatch.setattr(Store, "write", write_unsafely)
    await migrate(own_postgres.dsn)
    await farm.register(phones=30)
    async with Runner(FLEET_PROJECTION, farm.log, own_postgres.dsn, limits=SMALL) as runner:
        await eventually(lambda: runner.checkpoint == farm.head)
        await _restart_in_mid_batch(own_postgres, farm)
        await eventually(lambda: runner.checkpoint == farm.head and runner.active)
    async with look(own_postgres.dsn) as read_model:
        assert await read_model.checkpoint() == farm.head
        assert not await read_model.agrees(farm)


async def test_restarts_at_any_moment_lose_and_repeat_nothing(farm, own_postgres, look) -> None:
    await migrate(own_postgres.dsn)
    await farm.register(phones=30)
    async with Runner(FLEET_PROJECTION, farm.log, own_postgres.dsn, limits=SMALL) as runner:
        for _ in range(4):
            reached = runner.checkpoint.seq
            await farm.flip(commits=300)
            await eventually(lambda reached=reached: runner.checkpoint.seq > reached)
            await own_postgres.restart("immediate")
        await eventually(lambda: _is_at(own_postgres.dsn, look, farm.head))
    async with look(own_postgres.dsn) as read_model:
        assert await read_model.agrees(farm)


async def test_a_commit_whose_answer_is_lost_is_neither_repeated_nor_left_out(
    farm, dsn, read_model, monkeypatch
) -> None:
    write, lost = Store.write, []

    async def write_and_lose_the_answer(self: Store, changes, old, new) -> None:
        await write(self, changes, old, new)
        if len(lost) < 3:
            lost.append(new)
            raise ConnectionResetError("while committing")

    monkeypatch.setattr(Store, "write", write_and_lose_the_answer)
    monkeypatch.setattr(catch_up, "BATCH_EVENTS_MAX", 20)
    await farm.register(phones=30)
    await farm.flip(commits=30)
    async with Runner(FLEET_PROJECTION, farm.log, dsn, limits=SMALL) as runner:
        await eventually(lambda: runner.checkpoint == farm.head)
    assert len(lost) == 3
    assert await read_model.agrees(farm)


async def test_of_two_projectors_one_works_and_the_other_takes_over_when_it_dies(farm, dsn, read_model) -> None:
    await farm.register(phones=30)
    async with Runner(FLEET_PROJECTION, farm.log, dsn, limits=SMALL) as first:
        await eventually(lambda: first.active)
        async with Runner(FLEET_PROJECTION, farm.log, dsn, limits=SMALL) as second:
            await farm.flip(commits=20)
            await eventually(lambda: first.checkpoint == farm.head)
            assert not second.active
            first._task.cancel()  # its connection is cut, as the kernel does for a killed process
            await eventually(lambda: second.active)
            await farm.flip(commits=20)
            await eventually(lambda: second.checkpoint == farm.head)
            assert not first.active
    assert await read_model.agrees(farm)


async def test_a_projector_that_falls_silent_loses_its_lock_and_writes_nothing_more(
    farm, dsn, read_model, monkeypatch
) -> None:
    monkeypatch.setattr(runtime, "SILENT_TERM_S", 1.5)
    monkeypatch.setattr(runtime, "IDLE_S", 60.0)  # as if its process were paused
    await farm.register(phones=5)
    async with Runner(FLEET_PROJECTION, farm.log, dsn) as silent:
        await eventually(lambda: silent.checkpoint == farm.head)
        async with Runner(FLEET_PROJECTION, farm.log, dsn) as successor:
            await eventually(lambda: successor.active)
            assert silent.active  # so it believes
            await farm.flip(commits=5)
            await eventually(lambda: successor.checkpoint == farm.head and not silent.active)
    assert await read_model.agrees(farm)


async def test_a_projector_whose_session_was_ended_comes_back_by_itself(farm, dsn, read_model) -> None:
    await farm.register(phones=5)
    async with Runner(FLEET_PROJECTION, farm.log, dsn) as runner:
        await eventually(lambda: runner.checkpoint == farm.head)
        await read_model.connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'drover-projector%'"
        )
        await farm.flip(commits=3)
        await eventually(lambda: runner.checkpoint == farm.head)
    assert await read_model.agrees(farm)


def _one_pc(name: str):
    tables = BatchTables(FLEET_PROJECTION)
    tables.put(PCS, PcRow(name, 20, AT, AT))
    return tables.take()


async def test_the_fence_aborts_a_zombie_and_all_its_rows(dsn, read_model) -> None:
    async with connect(dsn, "zombie") as one, connect(dsn, "successor") as two:
        await ensure_read_model(one, FLEET_PROJECTION)
        zombie, successor = Store(one, FLEET_PROJECTION, "main"), Store(two, FLEET_PROJECTION, "main")
        for connection, store in ((one, zombie), (two, successor)):
            await store.open()
            assert await runtime.read_checkpoint(connection, FLEET_PROJECTION.schema, "main", "fleet") == Checkpoint()
        await successor.write(_one_pc("of the successor"), Checkpoint(), Checkpoint(1, 1))
        with pytest.raises(CheckpointMoved) as caught:
            await zombie.write(_one_pc("of the zombie"), Checkpoint(), Checkpoint(1, 1))
    assert caught.value.expected == 0
    assert [r["id"] for r in await read_model.connection.fetch(placed("SELECT id FROM rm_fleet.pc_rows"))] == [
        "of the successor"
    ]


async def test_without_the_lock_the_fence_alone_keeps_two_projectors_apart(farm, dsn, read_model, monkeypatch) -> None:
    monkeypatch.setattr(runtime, "_TRY_LOCK", "SELECT $1::text IS NOT NULL AND $2::text IS NOT NULL")
    monkeypatch.setattr(runtime, "RETRY", Backoff(first_s=0.1, max_s=0.1))
    await farm.register(phones=30)
    async with (
        Runner(FLEET_PROJECTION, farm.log, dsn, limits=SMALL) as first,
        Runner(FLEET_PROJECTION, farm.log, dsn, limits=SMALL) as second,
    ):
        await eventually(lambda: first.active and second.active)
        await farm.flip(commits=100)
        await eventually(lambda: farm.head in (first.checkpoint, second.checkpoint))
    assert await read_model.agrees(farm)


async def test_a_projector_that_starts_before_postgres_is_migrated_waits_for_it(farm, postgres_dsn) -> None:
    await farm.register(phones=3)
    async with Runner(FLEET_PROJECTION, farm.log, postgres_dsn) as runner:
        await eventually(lambda: runner._retries.failures > 1)
        await migrate(postgres_dsn)
        await eventually(lambda: runner.checkpoint == farm.head)
