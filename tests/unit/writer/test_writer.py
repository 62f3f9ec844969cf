"""The decider runtime on a log in memory: group commit, idempotency, deadlines, faults of the domain, hand-over."""

import asyncio
from datetime import timedelta

import pytest

from drover.bus.messages import Accepted, Rejected
from drover.domain.errors import Code
from drover.domain.event import TermStarted
from drover.eventlog.codec import Codec
from drover.eventlog.log import AppendConflict, AppendUnsettled, Commit, LogUnreachable
from drover.testing.lease import LocalLease
from drover.testing.waiting import eventually
from drover.writer.intake import Intake

from .conftest import (
    TALLY,
    Add,
    Added,
    AlarmRang,
    Ask,
    DecideTheUnencodable,
    Flood,
    Noted,
    RaiseInDecide,
    RaiseInEvolve,
    Refuse,
    SetAlarm,
)


def added(bench):
    return [event.amount for event in bench.log.events() if isinstance(event, Added)]


async def test_a_term_begins_with_a_commit_that_names_its_epoch(bench):
    for epoch in (1, 2):
        async with bench.leading():
            first = [event for event in bench.log.events() if isinstance(event, TermStarted)][-1]
            assert first.epoch == epoch


async def test_an_accepted_command_is_in_the_log_with_its_envelope(bench):
    async with bench.leading() as writer:
        outcome = await writer.submit(Add(5), by="tester", id="c1", trace="00-t-s-01")
    assert outcome == Accepted(2, {"n": 2})
    event = bench.log.events()[-1]
    assert (event.n, event.by, event.cause, event.trace, event.at) == (
        2,
        "tester",
        "c1",
        "00-t-s-01",
        bench.clock.now(),
    )


async def test_commands_that_wait_together_share_commits(bench):
    async with bench.leading() as writer:
        bench.log.flowing.clear()
        outcomes = [writer.submit(Add(1), by="t") for _ in range(1000)]
        await asyncio.sleep(0)
        bench.log.flowing.set()
        assert all(isinstance(outcome, Accepted) for outcome in await asyncio.gather(*outcomes))
    assert len(bench.log._commits) <= 4  # the term, a first small one, and one or two that hold the rest
    assert [event.n for event in bench.log.events()] == list(range(1, 1002))


async def test_a_read_waits_for_the_commit_in_flight(bench):
    async with bench.leading() as writer:
        bench.log.flowing.clear()
        writer.submit(Add(7), by="t")
        await asyncio.sleep(0)
        read = writer.submit(Ask(), by="t")
        for _ in range(10):
            await asyncio.sleep(0)
        assert not read.done()
        bench.log.flowing.set()
        assert (await read).result == 7


async def test_a_repeat_is_answered_as_the_first_time_and_changes_nothing(bench):
    async with bench.leading() as writer:
        first = await writer.submit(Add(1), by="t", id="same")
        again = await writer.submit(Add(1), by="t", id="same")
    async with bench.leading() as writer:
        after_restart = await writer.submit(Add(1), by="t", id="same")
    assert first == again == after_restart
    assert added(bench) == [1]


async def test_the_same_command_twice_in_one_turn_takes_effect_once(bench):
    async with bench.leading() as writer:
        one, two = await asyncio.gather(writer.submit(Add(1), by="t", id="x"), writer.submit(Add(1), by="t", id="x"))
    assert one == two
    assert added(bench) == [1]


async def test_the_same_key_with_another_body_is_refused(bench):
    async with bench.leading() as writer:
        await writer.submit(Add(1), by="t", id="key~digest1")
        outcome = await writer.submit(Add(2), by="t", id="key~digest2")
    assert outcome.code == Code.IDEMPOTENCY_MISMATCH
    assert added(bench) == [1]


async def test_a_command_is_forgotten_after_ten_minutes_of_event_time(bench):
    async with bench.leading() as writer:
        await writer.submit(Add(1), by="t", id="old")
        bench.clock.advance(minutes=9)
        await writer.submit(Add(1), by="t", id="newer")
        await writer.submit(Add(1), by="t", id="old")
        bench.clock.advance(minutes=2)
        await writer.submit(Add(1), by="t", id="newest")
        await writer.submit(Add(1), by="t", id="old")
    assert added(bench) == [1, 1, 1, 1]


async def test_a_recorded_refusal_is_committed_before_it_is_told_and_told_again(bench):
    async with bench.leading() as writer:
        first = await writer.submit(Refuse("late"), by="t", id="r")
        again = await writer.submit(Refuse("late"), by="t", id="r")
    assert first == again == Rejected("NO", "late", None, 2)
    assert len(bench.log.events()) == 2


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


async def test_no_commit_is_larger_than_its_bound(bench):
    async with bench.leading() as writer:
        await asyncio.gather(*(writer.submit(Flood(100, note="x" * 1000), by="t") for _ in range(20)))
    assert max(len(commit.payload) for commit in bench.log._commits) <= 256 * 1024


async def test_a_full_intake_says_so_at_once(bench):
    async with bench.leading(intake=Intake(limit=10)) as writer:
        bench.log.flowing.clear()
        writer.submit(Add(1), by="t")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        outcomes = [writer.submit(Add(1), by="t") for _ in range(50)]
        assert sum(o.done() and o.result().code == Code.OVERLOADED for o in outcomes) == 40
        bench.log.flowing.set()
        await asyncio.gather(*outcomes)
    assert len(added(bench)) == 11


async def test_a_deadline_fires_when_its_time_has_come_and_not_before(bench):
    async with bench.leading() as writer:
        await writer.submit(SetAlarm(60), by="t")
        bench.clock.advance(seconds=59)
        await writer.submit(Add(1), by="t")
        assert not any(isinstance(event, AlarmRang) for event in bench.log.events())
        bench.clock.advance(seconds=1)
        await writer.submit(Add(1), by="t")
        await eventually(lambda: any(isinstance(event, AlarmRang) for event in bench.log.events()))
    rang = next(event for event in bench.log.events() if isinstance(event, AlarmRang))
    assert rang.by == "clock"


async def test_what_became_overdue_while_nobody_led_fires_at_once_after_a_start(bench):
    async with bench.leading() as writer:
        await asyncio.gather(*(writer.submit(SetAlarm(60 + i), by="t") for i in range(5)))
    bench.clock.advance(hours=1)
    async with bench.leading():
        await eventually(lambda: sum(isinstance(event, AlarmRang) for event in bench.log.events()) == 5)


async def test_a_deadline_that_does_not_go_away_is_parked_and_the_writer_goes_on(bench):
    async with bench.leading() as writer:
        writer.state.stuck = True
        await writer.submit(SetAlarm(0), by="t")
        await eventually(lambda: writer._term._deadlines.parked_total == 1)
        for _ in range(100):
            await asyncio.sleep(0)
        assert writer._term._deadlines.parked_total == 1
        assert isinstance(await writer.submit(Add(1), by="t"), Accepted)
        bench.clock.advance(seconds=61)
        await writer.submit(Add(1), by="t")
        await eventually(lambda: writer._term._deadlines.parked_total == 2)


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


async def test_a_deadline_behind_a_crowd_of_reads_is_not_parked(bench):
    async with bench.leading() as writer:
        await writer.submit(SetAlarm(60), by="t")
        bench.clock.advance(seconds=61)
        await asyncio.gather(*(writer.submit(Ask(), by="t") for _ in range(600)))
        await eventually(lambda: any(isinstance(event, AlarmRang) for event in bench.log.events()))
        assert writer._term._deadlines.parked_total == 0


async def test_a_snapshot_that_cannot_be_taken_costs_nothing_but_the_snapshot(bench, monkeypatch):
    def no_room(**options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("drover.writer.snapshots.tempfile.mkstemp", no_room)
    async with bench.leading(snapshot_every=10) as writer:
        outcomes = [await writer.submit(Add(1), by="t") for _ in range(30)]
    assert all(isinstance(outcome, Accepted) for outcome in outcomes)
    assert not bench.snapshots.kept


async def test_a_snapshot_that_is_ahead_of_the_log_is_not_believed(bench):
    async with bench.leading(snapshot_every=10) as writer:
        for _ in range(20):
            await writer.submit(Add(1), by="t")
        await writer._snapshotter.settle()
    bench.log._commits.clear()  # the log was lost and made anew
    async with bench.leading() as writer:
        assert (await writer.submit(Ask(), by="t")).result == 0


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
