"""A log under the tables of another log, and tables under the log of others: recognised, named, never mixed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from drover.domain.fleet import FLEET
from drover.domain.fleet.events import PcRegistered
from drover.eventlog.histories import OfAnotherHistory
from drover.eventlog.log import LogUnreachable
from drover.eventlog.memory import MemoryLog
from drover.history.checkpointer import Checkpointer
from drover.history.checkpoints import FoldCheckpoints
from drover.history.travel import Place, TimeTraveller
from drover.postgres.pool import open_pool
from drover.projection.readable import ReadableForms
from drover.projection.rebuild import Rebuild
from drover.projection.runtime import Runner
from drover.projection.verify import verify
from drover.projector.fleet import FLEET_PROJECTION
from drover.testing.waiting import eventually
from drover.writer.fold import Fold

from .conftest import Farm

SCHEMA = FLEET_PROJECTION.schema

pytestmark = pytest.mark.req("YR-14")


async def followed(farm, dsn):
    async with Runner(FLEET_PROJECTION, farm.log, dsn) as runner:
        await eventually(lambda: runner.active and runner.checkpoint.seq == farm.head.seq)


async def longer_log():
    """A log of another farm, with as many events, and some more."""
    farm = Farm("other-")
    await farm.register(phones=5)
    return farm


async def test_a_log_with_another_commit_at_the_position_is_not_followed(farm, dsn, read_model):
    await farm.register(phones=3)
    await followed(farm, dsn)
    other = await longer_log()
    async with Runner(FLEET_PROJECTION, other.log, dsn) as runner:
        stopped = await eventually(lambda: runner.stopped)
    assert stopped.reason == "another_history"
    assert "at position 3 it has the commit 2, and the log has other-2" in stopped.details["what"]
    assert "drover projection forget fleet" in stopped.details["what"]
    assert await read_model.agrees(farm)


async def test_tables_of_another_history_are_not_read_until_the_right_log_is_back(farm, dsn, read_model):
    await farm.register(phones=3)
    await followed(farm, dsn)
    async with open_pool(dsn, "edge", 1) as pool:
        forms = ReadableForms(pool, {"fleet": [farm.log.partition]})
        await forms.look()
        assert forms.waiting() == []
        async with Runner(FLEET_PROJECTION, (await longer_log()).log, dsn) as runner:
            await eventually(lambda: runner.stopped)
        await forms.look()
        assert forms.waiting() == ["fleet"]
        await followed(farm, dsn)
        await forms.look()
        assert forms.waiting() == []


class SwappedLog(MemoryLog):
    """A log that does not answer while it is replaced by another one."""

    def __init__(self, log):
        super().__init__(log.partition)
        self._commits = log._commits
        self.away = False
        self.asked_while_away = asyncio.Event()

    def _answer(self):
        if self.away:
            self.asked_while_away.set()
            raise LogUnreachable

    async def last(self):
        self._answer()
        return await super().last()

    async def put(self, log):
        """Let the readers go on with the commits of another log."""
        async with self._grown:
            self.away, self._commits = False, log._commits
            self._grown.notify_all()


async def test_a_log_that_is_put_under_a_running_projector_is_noticed_before_it_is_read(farm, dsn, read_model):
    await farm.register(phones=3)
    log = SwappedLog(farm.log)
    async with Runner(FLEET_PROJECTION, log, dsn) as runner:
        await eventually(lambda: runner.checkpoint.seq == 3)
        log.away = True
        await eventually(log.asked_while_away.is_set)
        await log.put((await longer_log()).log)
        stopped = await eventually(lambda: runner.stopped)
    assert stopped.reason == "another_history"
    assert await read_model.agrees(farm)


async def test_a_shorter_log_under_a_running_projector_is_noticed(farm, dsn, read_model):
    await farm.register(phones=3)
    log = SwappedLog(farm.log)
    async with Runner(FLEET_PROJECTION, log, dsn) as runner:
        await eventually(lambda: runner.checkpoint.seq == 3)
        older = Farm()
        await older.register(phones=2)
        await log.put(older.log)
        stopped = await eventually(lambda: runner.stopped)
    assert stopped.reason == "another_history"


async def test_control_without_the_commit_id_both_histories_are_mixed(farm, dsn, read_model):
    await farm.commit(PcRegistered("pc-a", 20), PcRegistered("pc-b", 20))
    await farm.commit(PcRegistered("pc-c", 20))
    await farm.commit(PcRegistered("pc-d", 20))
    await followed(farm, dsn)
    await read_model.connection.execute("UPDATE drover.checkpoints SET commit_id = NULL")
    other = await longer_log()
    await followed(other, dsn)
    assert not await read_model.agrees(other)


async def test_tables_that_are_only_behind_catch_up(farm, dsn, read_model):
    await farm.register(phones=3)
    await followed(farm, dsn)
    await farm.register(phones=2)
    await followed(farm, dsn)
    assert await read_model.agrees(farm)


async def test_a_checkpoint_of_an_older_program_is_believed_and_gets_its_commit_id(farm, dsn, read_model):
    await farm.register(phones=3)
    await followed(farm, dsn)
    await read_model.connection.execute("UPDATE drover.checkpoints SET commit_id = NULL")
    await farm.register(phones=1)
    await followed(farm, dsn)
    found = await read_model.connection.fetchval(f"SELECT commit_id FROM drover.checkpoints WHERE schema = '{SCHEMA}'")
    assert found == "3"


async def test_tables_of_another_log_are_neither_verified_nor_rebuilt(farm, dsn):
    await farm.register(phones=3)
    await followed(farm, dsn)
    other = await longer_log()
    with pytest.raises(OfAnotherHistory):
        await verify(FLEET_PROJECTION, [other.log], dsn)
    async with Rebuild(FLEET_PROJECTION, [other.log], dsn) as rebuild:
        with pytest.raises(OfAnotherHistory):
            await rebuild.fold()


async def test_a_saved_state_of_another_log_is_no_part_of_the_past(farm, dsn):
    await farm.register(phones=3)
    fold = Fold(FLEET)
    for seq in range(1, 4):
        fold.apply(await farm.log.get(seq))
    async with open_pool(dsn, "test", 2) as pool:
        checkpoints = FoldCheckpoints(pool)
        keeper = Checkpointer(FLEET, farm.log, checkpoints)
        keeper._snapshots.take(fold)
        await keeper._snapshots.settle()
        other = await longer_log()
        with pytest.raises(OfAnotherHistory):
            await Checkpointer(FLEET, other.log, checkpoints)._follow()
        with pytest.raises(OfAnotherHistory):
            await TimeTraveller({"fleet": Place(_fleet, other.log)}, checkpoints).ask(
                "fleet", datetime(2026, 4, 1, tzinfo=UTC), _nothing
            )


def _fleet():
    return FLEET


def _nothing(state, at):
    return b""
