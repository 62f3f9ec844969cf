"""A writer in trouble and at its end: faults of the domain, leases, clocks, snapshots, hand-over."""

import asyncio
from datetime import timedelta

import pytest

from drover.bus.messages import Accepted
from drover.domain.errors import Code
from drover.domain.event import TermStarted
from drover.eventlog.codec import Codec
from drover.eventlog.log import AppendConflict, AppendUnsettled, Commit, LogUnreachable
from drover.testing.lease import LocalLease
from drover.testing.waiting import eventually

from .conftest import (
    TALLY,
    Add,
    Added,
    Ask,
    DecideTheUnencodable,
    Flood,
    Noted,
    RaiseInDecide,
    RaiseInEvolve,
)


def added(bench):
    return [event.amount for event in bench.log.events() if isinstance(event, Added)]


async def test_a_decide_that_raises_fails_its_own_command_alone(bench):
    async with bench.leading() as writer:
        outcomes = await asyncio.gather(*(writer.submit(c, by="t") for c in (Add(1), RaiseInDecide(), Add(2))))
    assert [getattr(outcome, "code", "ok") for outcome in outcomes] == ["ok", Code.INTERNAL, "ok"]
    assert added(bench) == [1, 2]


async def test_an_evolve_that_raises_quarantines_its_command_and_leaves_no_trace_in_state_or_log(bench):
    async with bench.leading() as writer:
        await writer.submit(Add(1), by="t")
        batch = [writer.submit(c, by="t") for c in (Add(2), RaiseInEvolve(), Add(4))]
        outcomes = await asyncio.gather(*batch)
        total = (await writer.submit(Ask(), by="t")).result
    assert [getattr(outcome, "code", "ok") for outcome in outcomes] == ["ok", Code.INTERNAL, "ok"]
    assert added(bench) == [1, 2, 4]
    assert total == 7
    assert [event.n for event in bench.log.events()] == [1, 2, 3, 4]


async def test_an_evolve_that_raises_behind_a_commit_in_flight_loses_neither(bench):
    async with bench.leading() as writer:
        bench.log.flowing.clear()
        in_flight = writer.submit(Add(1), by="t")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        bad, good = writer.submit(RaiseInEvolve(), by="t"), writer.submit(Add(2), by="t")
        await asyncio.sleep(0)
        bench.log.flowing.set()
        assert isinstance(await in_flight, Accepted)
        assert (await bad).code == Code.INTERNAL
        assert isinstance(await good, Accepted)
        assert (await writer.submit(Ask(), by="t")).result == 3


async def test_a_decision_beyond_the_bounds_is_refused_whole(bench):
    async with bench.leading() as writer:
        too_many = await writer.submit(Flood(501), by="t")
        too_big = await writer.submit(Flood(200, note="x" * 1000), by="t")
        fits = await writer.submit(Flood(500), by="t")
    assert too_many.code == too_big.code == Code.TOO_LARGE
    assert isinstance(fits, Accepted)
    assert sum(isinstance(event, Noted) for event in bench.log.events()) == 500


async def test_time_in_a_partition_never_goes_backwards(bench):
    async with bench.leading() as writer:
        await writer.submit(Add(1), by="t")
        bench.clock.advance(seconds=-30)
        await writer.submit(Add(1), by="t")
    times = [event.at for event in bench.log.events()]
    assert times == sorted(times)


async def test_without_a_valid_lease_only_committed_answers_are_given(bench):
    async with bench.leading() as writer:
        bench.lease.suspend()
        assert (await writer.submit(Ask(), by="t")).code == Code.NOT_LEADER
        assert isinstance(await writer.submit(Add(1), by="t"), Accepted)


async def test_a_lost_lease_ends_the_term_and_turns_away_what_waits(bench):
    async with bench.leading() as writer:
        bench.log.flowing.clear()
        in_flight = writer.submit(Add(1), by="t")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        bench.lease.lose()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting = writer.submit(Add(2), by="t")
        bench.log.flowing.set()
        assert isinstance(await in_flight, Accepted)
        assert (await waiting).code == Code.NOT_LEADER


async def test_a_lost_lease_with_a_turn_still_gathering_leaves_nothing_undone_in_the_state(bench):
    async with bench.leading() as writer:
        bench.log.flowing.clear()
        in_flight = writer.submit(Add(1), by="t")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        gathering = writer.submit(Add(10), by="t")
        await eventually(lambda: writer.state.total == 11)  # decided on top of the commit in flight
        bench.lease.lose()
        bench.log.flowing.set()
        assert isinstance(await in_flight, Accepted)
        assert (await gathering).code == Code.NOT_LEADER
        await eventually(lambda: writer.leading.is_set() and writer.epoch == 2)
        assert (await writer.submit(Ask(), by="t")).result == 1
        await writer.submit(Add(2), by="t")
    assert added(bench) == [1, 2]
    assert [event.n for event in bench.log.events()] == [1, 2, 3, 4]


async def test_a_writer_that_was_overtaken_drops_its_state_and_comes_back_with_the_truth(bench):
    async with bench.leading() as writer:
        await writer.submit(Add(1), by="t")
        rival = TermStarted(9, "rival", n=3, at=bench.clock.now(), by="w", cause="z")
        await bench.log.append(Commit("rival", 9, Codec(TALLY.events).encode([rival])), 2)
        outcome = await writer.submit(Add(2), by="t")
        assert outcome.code == Code.NOT_LEADER
        await eventually(lambda: writer.leading.is_set() and writer.epoch == 10)
        assert (await writer.submit(Ask(), by="t")).result == 1
    assert added(bench) == [1]


async def test_an_append_that_nobody_can_settle_ends_the_writer(bench):
    async with bench.leading() as writer:
        bench.log.fail_with = AppendUnsettled()
        assert (await writer.submit(Add(1), by="t")).code == Code.NOT_LEADER
        with pytest.raises(AppendUnsettled):
            await asyncio.wait_for(writer.wait_failed(), 5)


async def test_a_stop_commits_and_answers_what_was_accepted_then_hands_over(bench):
    async with bench.leading() as writer:
        outcomes = [writer.submit(Add(1), by="t") for _ in range(300)]
    assert all(isinstance(outcome.result(), Accepted) for outcome in outcomes)
    assert len(added(bench)) == 300
    assert not bench.lock.locked()


async def test_a_standby_is_warm_and_takes_over_when_the_leader_stops(bench):
    leader = bench.writer()
    async with leader.running(), bench.writer(lease=LocalLease(bench.lock)).running() as standby:
        await asyncio.wait_for(leader.leading.wait(), 5)
        await leader.submit(Add(3), by="t")
        await eventually(lambda: standby.state is not None and standby.state.total == 3)
        assert not standby.leading.is_set()
        await leader.stop()
        await asyncio.wait_for(standby.leading.wait(), 5)
        await standby.submit(Add(4), by="t")
        assert (standby.epoch, standby.state.total) == (2, 7)


async def test_a_snapshot_holds_committed_events_only_and_spares_the_replay(bench):
    async with bench.leading(snapshot_every=50) as writer:
        for _ in range(120):
            await writer.submit(Add(1), by="t", id=None)
        await writer.submit(Add(1), by="t", id="remember-me")
        await writer._snapshotter.settle()
    assert bench.snapshots.kept
    snapshotter = bench.writer()._snapshotter
    fold = await snapshotter.load()
    assert fold.n >= 50
    assert fold.state.total == fold.n - 1  # the term's own event adds nothing
    async with bench.leading() as writer:
        assert (await writer.submit(Ask(), by="t")).result == 121
        await writer.submit(Add(1), by="t", id="remember-me")
    assert len(added(bench)) == 121


async def test_a_damaged_snapshot_is_ignored(bench):
    async with bench.leading(snapshot_every=10) as writer:
        for _ in range(30):
            await writer.submit(Add(1), by="t")
        await writer._snapshotter.settle()
    for key, data in bench.snapshots.kept.items():
        bench.snapshots.kept[key] = data[: len(data) // 2]
    async with bench.leading() as writer:
        assert (await writer.submit(Ask(), by="t")).result == 30


async def test_a_conflict_is_raised_for_a_stale_expectation(bench):
    async with bench.leading():
        with pytest.raises(AppendConflict):
            await bench.log.append(Commit("x", 1, b"{}\n"), 0)


async def test_an_event_that_cannot_be_encoded_fails_its_own_command_alone(bench):
    async with bench.leading() as writer:
        assert (await writer.submit(DecideTheUnencodable(), by="t")).code == Code.INTERNAL
        assert isinstance(await writer.submit(Add(1), by="t"), Accepted)


async def test_a_turn_that_gathers_for_a_while_keeps_its_events_in_the_order_of_time(bench):
    async with bench.leading() as writer:
        bench.log.flowing.clear()
        writer.submit(Add(1), by="t")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        writer.submit(Add(10), by="t")
        await eventually(lambda: writer.state.total == 11)
        bench.clock.advance(seconds=10)
        writer.submit(Add(100), by="t")
        await eventually(lambda: writer.state.total == 111)
        bench.log.flowing.set()
        bench.clock.advance(seconds=-9)
        await writer.submit(Add(1000), by="t")
    times = [event.at for event in bench.log.events()]
    assert times == sorted(times)


async def test_a_snapshot_that_cannot_be_taken_costs_nothing_but_the_snapshot(bench, monkeypatch):
    def no_memory():
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("drover.writer.forked_image.os.fork", no_memory)
    async with bench.leading(snapshot_every=10) as writer:
        outcomes = [await writer.submit(Add(1), by="t") for _ in range(30)]
    assert all(isinstance(outcome, Accepted) for outcome in outcomes)
    assert not bench.snapshots.kept


async def test_a_clock_that_is_set_while_a_term_runs_ends_it_before_an_event_is_stamped(bench):
    async with bench.leading() as writer:
        await writer.submit(Add(1), by="t")
        bench.clock._now += timedelta(days=1)
        assert (await writer.submit(Add(2), by="t")).code == Code.NOT_LEADER
    assert added(bench) == [1]


async def test_repeats_whose_commit_cannot_be_read_hold_nobody_up_and_are_asked_for_again(bench):
    async with bench.leading() as writer:
        await writer.submit(Add(1), by="t", id="known")

        async def unreachable(seq):
            raise LogUnreachable

        bench.log.get = unreachable
        assert (await writer.submit(Add(1), by="t", id="known")).code == Code.NOT_LEADER
        assert isinstance(await writer.submit(Add(1), by="t"), Accepted)


async def test_each_commit_is_announced_before_its_callers_are_answered(bench):
    said = []
    async with bench.leading(committed=said.append) as writer:
        assert said == [1], "the opening commit: it covers what the writer before may have answered without saying"
        asked = writer.submit(Add(1), by="t")
        asked.add_done_callback(lambda _: said.append("answered"))
        outcome = await asked
    assert said == [1, outcome.position, "answered"]
