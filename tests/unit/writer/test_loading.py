"""How a writer loads its state: to the end of the log, from its own history, and only then ready to lead."""

import asyncio

import pytest

from drover.eventlog.log import Commit
from drover.eventlog.snapshots import MemorySnapshots
from drover.testing.lease import LocalLease
from drover.testing.waiting import eventually
from drover.writer import loading
from drover.writer import writer as writer_module
from drover.writer.refusals import RefusalCode
from tests.unit.writer.conftest import Add, Added, Ask, HeldLog, SlowLog


@pytest.fixture
async def saved(bench):
    """A log of 21 commits with a snapshot somewhere in it."""
    async with bench.leading(snapshot_every=10) as writer:
        for _ in range(20):
            await writer.submit(Add(1), by="t")
        await writer._snapshotter.settle()
    return bench


async def refused(bench):
    """Why a writer refuses to lead."""
    async with bench.writer().running() as writer:
        await eventually(lambda: writer.refusal() is not None)
        assert not writer.leading.is_set()
        assert not bench.lock.locked()
        assert writer.why_not_ready() is not None
        assert writer.refusal().code is RefusalCode.OTHER_HISTORY
        return str(writer.refusal())


@pytest.mark.req("YR-14", "YR-01")
async def test_a_partition_with_a_snapshot_but_without_a_commit_is_not_led(saved):
    saved.log._commits.clear()  # as after a purge of its last commit, or on an empty stream
    why = await refused(saved)
    assert "The snapshot is of another history than the log of tally/main" in why
    assert "the log has no commits" in why
    assert "drover snapshots forget tally" in why


@pytest.mark.req("YR-14")
async def test_a_snapshot_that_is_ahead_of_the_log_is_of_another_history(saved):
    newest = (await saved.snapshots.infos(saved.log.partition))[0]
    del saved.log._commits[newest.seq - 1 :]
    assert f"it is at position {newest.seq}, and the log ends at {newest.seq - 1}" in await refused(saved)


@pytest.mark.req("YR-14")
async def test_a_log_with_another_commit_at_the_position_of_the_snapshot_is_of_another_history(saved):
    other = HeldLog(saved.log.partition)
    for number, commit in enumerate(saved.log._commits):
        await other.append(Commit(f"other-{number}", commit.epoch, commit.payload), number)
    saved.log = other
    assert "it has the commit" in await refused(saved)


@pytest.mark.req("YR-14")
async def test_control_without_the_comparison_two_histories_are_mixed(saved, monkeypatch):
    async def believed(*_, **more):
        pass

    for module in (loading, writer_module):
        monkeypatch.setattr(module, "refuse_another_history", believed)
    other = HeldLog(saved.log.partition)
    saved.log, snapshots = other, saved.snapshots
    saved.snapshots = MemorySnapshots()
    async with saved.leading() as writer:
        for _ in range(30):
            await writer.submit(Add(100), by="t")
    saved.snapshots = snapshots
    async with saved.leading() as writer:
        total = (await writer.submit(Ask(), by="t")).result
    assert sum(event.amount for event in other.events() if isinstance(event, Added)) == 3_000
    assert total != 3_000, "the state has events that are not in the log"


@pytest.mark.req("YR-14")
async def test_a_snapshot_of_a_version_that_this_program_cannot_read_is_compared_too(saved):
    info = (await saved.snapshots.infos(saved.log.partition))[0]
    content = saved.snapshots.kept[info]
    saved.snapshots.kept.clear()

    async def chunks():
        yield content

    await saved.snapshots.save(saved.log.partition, "another", chunks(), seq=99, commit="x")
    assert "it is at position 99" in await refused(saved)


@pytest.mark.req("YR-14")
async def test_a_writer_leads_as_soon_as_the_right_log_is_back(saved, monkeypatch):
    monkeypatch.setattr(writer_module, "OTHER_HISTORY_PAUSE_S", 0.01)
    commits, saved.log._commits = saved.log._commits, []
    async with saved.writer().running() as writer:
        await eventually(lambda: writer.refusal() is not None)
        saved.log._commits = commits
        await asyncio.wait_for(writer.leading.wait(), 5)
        assert writer.refusal() is None
        assert (await writer.submit(Ask(), by="t")).result == 20


@pytest.mark.req("YR-14")
async def test_a_purged_commit_at_the_position_of_the_snapshot_is_no_contradiction(saved):
    get = saved.log.get

    async def purged(seq):
        return None if seq < 21 else await get(seq)

    saved.log.get = purged
    async with saved.leading() as writer:
        assert (await writer.submit(Ask(), by="t")).result == 20


@pytest.fixture
async def slow(bench):
    async with bench.leading() as writer:
        await writer.submit(Add(3), by="t")
    log = SlowLog(bench.log.partition)
    log._commits = bench.log._commits
    bench.log = log
    return bench


@pytest.mark.req("YR-07")
async def test_a_writer_is_ready_and_asks_for_the_lease_only_when_its_state_is_at_the_end_of_the_log(slow):
    async with slow.writer().running() as writer:
        await eventually(lambda: writer._loader._loading is not None)
        assert writer.why_not_ready() == "The state of tally/main is being loaded: it is at 0 of 2."
        assert not slow.lock.locked(), "it holds the lease and could not lead"
        slow.log.reading.set()
        await asyncio.wait_for(writer.leading.wait(), 5)
        assert writer.why_not_ready() is None


@pytest.mark.req("YR-07")
async def test_a_standby_is_ready_too_when_it_has_caught_up(slow):
    slow.log.reading.set()
    async with slow.leading(), slow.writer(lease=LocalLease(slow.lock)).running() as standby:
        await eventually(lambda: standby.why_not_ready() is None)
        assert not standby.leading.is_set()


@pytest.mark.req("YR-07")
async def test_what_was_written_while_a_long_log_was_read_is_read_before_the_writer_is_ready(slow, monkeypatch):
    monkeypatch.setattr(loading, "NEARLY_THERE_S", 0.0)
    ends = []
    last = slow.log.last

    async def growing():
        found = await last()
        if len(ends) < 3:
            await slow.log.append(Commit(f"c{found.seq}", 1, b""), found.seq)
        else:
            monkeypatch.setattr(loading, "NEARLY_THERE_S", 60.0)
        ends.append(found.seq)
        return found

    slow.log.last = growing
    writer = slow.writer()
    slow.log.reading.set()
    fold = await writer._loader.load()
    assert fold.seq == ends[-1] == 5


@pytest.mark.req("YR-06")
async def test_a_state_that_takes_long_to_fold_is_saved_on_the_way(slow, monkeypatch):
    monkeypatch.setattr(loading, "FOLDING_SNAPSHOT_S", -1.0)
    slow.log.reading.set()
    writer = slow.writer()
    await writer._loader.load()
    await writer._snapshotter.settle()
    assert await slow.snapshots.infos(slow.log.partition)


@pytest.mark.req("YR-07")
async def test_a_writer_that_is_still_loading_stops_when_it_is_asked_to(slow):
    async with asyncio.timeout(5):
        async with slow.writer().running() as writer:
            await eventually(lambda: writer._loader._loading is not None)


@pytest.mark.req("YR-14")
async def test_a_standby_whose_log_was_swapped_does_not_lead_with_its_state(bench):
    async with bench.leading() as leader, bench.writer(lease=LocalLease(bench.lock)).running() as standby:
        for _ in range(5):
            await leader.submit(Add(1), by="t")
        await eventually(lambda: standby.state is not None and standby.state.total == 5)
        other = HeldLog(bench.log.partition)
        for number, commit in enumerate(bench.log._commits):
            await other.append(Commit(f"other-{number}", commit.epoch, commit.payload.replace(b":1,", b":7,")), number)
        standby._log.last, standby._log.get = other.last, other.get  # the server came back with other files
        await leader.stop()
        await eventually(lambda: standby.refusal() is not None)
        assert "The state of this process is of another history" in str(standby.refusal())
        assert not standby.leading.is_set()
