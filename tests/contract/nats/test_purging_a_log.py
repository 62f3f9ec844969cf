"""Removing old commits from the stream of a log, and the two commits that always stay."""

import asyncio
from datetime import timedelta

import pytest
from uuid_utils import uuid4

from drover.archive import purging
from drover.archive.purging import PurgeRefused, first_since, purge, purge_unguarded
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, Partition
from drover.eventlog.streams import ensure_stream
from drover.testing.virtual_time import LoopClock
from drover.testing.waiting import eventually
from drover.writer.nats_writer import nats_writer, prepare
from tests.contract.nats.conftest import Stream, is_simulated
from tests.integration.writer.bank import Count, Deposit, bank

pytestmark = pytest.mark.req("YR-01")


@pytest.fixture
async def bank_log(client):
    """The log of a bank with ten deposits, and no snapshot."""
    context = f"c{uuid4().hex[:12]}"
    await prepare(client, (context,))
    for deposit in range(10):
        assert await in_the_bank(client, context, Deposit(str(deposit))) is None
    return JetStreamLog(client, Partition(context))


async def in_the_bank(client, context, command):
    """The answer of a writer that starts anew."""
    clock = LoopClock(asyncio.get_running_loop()) if is_simulated() else None
    async with nats_writer(client, bank(context), instance="bank", clock=clock).running() as writer:
        await eventually(writer.leading.is_set)
        return (await asyncio.wait_for(writer.submit(command, by="test"), 10)).result


async def sequences(client, log):
    state = await Stream(client, log.partition.stream).state()
    return state["first_seq"], state["last_seq"]


async def test_commits_below_a_position_leave_the_stream(client, bank_log):
    assert await purge(client, bank_log.partition, below=15, archived=17) == 14
    assert await sequences(client, bank_log) == (15, 20)


@pytest.fixture
def steps(monkeypatch):
    """Where the steps of a purge end."""
    ends = []

    async def noted(client, partition, below):
        ends.append(below)
        return await purge_unguarded(client, partition, below)

    monkeypatch.setattr(purging, "STEP", 6)
    monkeypatch.setattr(purging, "purge_unguarded", noted)
    return ends


async def test_many_commits_leave_in_steps_so_that_writers_are_not_held_up(client, bank_log, steps):
    assert await purge(client, bank_log.partition, below=15, archived=17) == 14
    assert steps == [7, 13, 15]
    assert await sequences(client, bank_log) == (15, 20)


async def test_commits_that_are_far_from_each_other_leave_in_few_steps(client, bank_log, steps):
    idle = JetStreamLog(client, Partition(bank_log.partition.context, "idle"))
    first = await idle.append(Commit("one", 1, b"{}\n"), 0)
    end = 20
    for number in range(30):
        end = await bank_log.append(Commit(f"busy {number}", 1, b"{}\n"), end)
    last = await idle.append(Commit("two", 1, b"{}\n"), first)
    assert await purge(client, idle.partition, below=last, archived=last) == 1
    assert steps == [first + 6]


async def test_another_partition_keeps_its_commits(client, bank_log):
    other = JetStreamLog(client, Partition(bank_log.partition.context, "other"))
    seq = await other.append(Commit("one", 1, b"{}\n"), 0)
    await bank_log.append(Commit("two", 1, b"{}\n"), 20)
    await purge(client, bank_log.partition, below=22, archived=22)
    assert (await other.last()).seq == seq


@pytest.mark.parametrize("below", [21, 500])
async def test_purging_a_last_commit_is_refused(client, bank_log, below):
    with pytest.raises(PurgeRefused, match="its last commit is 20"):
        await purge(client, bank_log.partition, below=below, archived=1000)
    assert await sequences(client, bank_log) == (1, 20)


async def test_purging_the_newest_archived_commit_is_refused(client, bank_log):
    with pytest.raises(PurgeRefused, match="its newest archived commit is 14"):
        await purge(client, bank_log.partition, below=15, archived=14)
    assert await sequences(client, bank_log) == (1, 20)


@pytest.mark.control
async def test_without_that_guard_a_writer_starts_from_nothing(client, bank_log):
    context = bank_log.partition.context
    assert await in_the_bank(client, context, Count()) == 10
    await purge_unguarded(client, bank_log.partition, below=500)
    assert await in_the_bank(client, context, Count()) == 0, "ten deposits are lost, and nobody was told"


async def test_a_stream_that_denies_purges_says_so(client):
    context = f"c{uuid4().hex[:12]}"
    await ensure_stream(client, context)
    log, stream = JetStreamLog(client, Partition(context)), Stream(client, context.upper())
    config = (await stream.api("STREAM.INFO"))["config"]
    await stream.api("STREAM.UPDATE", {**config, "deny_purge": True})
    first = await log.append(Commit("one", 1, b"{}\n"), 0)
    second = await log.append(Commit("two", 1, b"{}\n"), first)
    with pytest.raises(PurgeRefused, match="not permitted"):
        await purge(client, log.partition, below=second, archived=second)


async def test_the_first_commit_since_a_moment_is_found_in_what_is_left(client, bank_log):
    last = await bank_log.last()
    tenth = await bank_log.get(10)
    assert await first_since(bank_log, tenth.stored_at, last) == 10
    await purge(client, bank_log.partition, below=6, archived=20)
    assert await first_since(bank_log, tenth.stored_at, last) == 10
    assert await first_since(bank_log, tenth.stored_at - timedelta(days=1), last) == 6
    assert await first_since(bank_log, last.stored_at + timedelta(days=1), last) == 20
