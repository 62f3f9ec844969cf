"""A clock that was ahead for one term: deadlines afterwards, the time of events, and what the writer tells about it."""

from datetime import timedelta

import pytest

from drover.domain.event import TermStarted
from drover.testing.clock import VirtualClock
from drover.testing.lease import LocalLease
from drover.testing.waiting import eventually
from drover.writer.partition_time import PartitionTime

from .conftest import Add, AlarmRang, SetAlarm

pytestmark = pytest.mark.req("YR-13")

DAY_S = 86_400.0


async def lead_a_day_ahead(bench, *, alarm_s=None):
    """Lead for one term with a clock that is a day ahead, then set the clock right."""
    bench.clock.set_wall(days=1)
    async with bench.leading() as writer:
        await writer.submit(Add(1) if alarm_s is None else SetAlarm(alarm_s), by="t")
    bench.clock.set_wall(days=-1)


def rang(bench):
    return [event for event in bench.log.events() if isinstance(event, AlarmRang)]


def terms(bench):
    return [event for event in bench.log.events() if isinstance(event, TermStarted)]


async def test_a_deadline_set_after_the_clock_was_ahead_fires_in_its_time(bench):
    await lead_a_day_ahead(bench)
    async with bench.leading() as writer:
        await writer.submit(SetAlarm(60), by="t")
        bench.clock.advance(seconds=59)
        await writer.submit(Add(1), by="t")
        assert not rang(bench)
        bench.clock.advance(seconds=1)
        await writer.submit(Add(1), by="t")
        await eventually(lambda: rang(bench))


async def test_a_deadline_set_while_the_clock_was_ahead_fires_in_its_time(bench):
    await lead_a_day_ahead(bench, alarm_s=60)
    async with bench.leading() as writer:
        bench.clock.advance(seconds=60)
        await writer.submit(Add(1), by="t")
        await eventually(lambda: rang(bench))


async def test_the_time_of_events_goes_on_and_never_back(bench):
    await lead_a_day_ahead(bench)
    async with bench.leading() as writer:
        for _ in range(3):
            bench.clock.advance(seconds=10)
            await writer.submit(Add(1), by="t")
    times = [event.at for event in bench.log.events()]
    assert times == sorted(times)
    assert times[-1] - times[-4] == timedelta(seconds=30)


async def test_the_first_event_of_a_term_says_how_far_the_time_is_ahead(bench):
    async with bench.leading():
        pass
    await lead_a_day_ahead(bench)
    async with bench.leading():
        pass
    assert [event.ahead_s for event in terms(bench)] == [0.0, 0.0, DAY_S]


async def test_a_standby_counts_the_time_since_the_last_event(bench):
    await lead_a_day_ahead(bench)
    leader = bench.writer()
    async with leader.running(), bench.writer(lease=LocalLease(bench.lock)).running() as standby:
        await leader.leading.wait()
        await leader.submit(SetAlarm(60), by="t")
        await eventually(lambda: standby.state is not None and standby.state.alarms)
        bench.clock.advance(seconds=60)
        await leader.stop()
        await standby.leading.wait()
        await eventually(lambda: rang(bench))


async def test_a_clock_that_is_set_back_within_a_term_ends_it_and_the_next_one_goes_on(bench):
    bench.clock.set_wall(days=1)
    async with bench.leading() as writer:
        await writer.submit(SetAlarm(60), by="t")
        bench.clock.set_wall(days=-1)
        bench.clock.advance(seconds=60)
        writer.submit(Add(1), by="t")  # wakes the writer, which sees the set clock
        await eventually(lambda: writer.leading.is_set() and writer.epoch == 2, within_s=10)
        await eventually(lambda: rang(bench))
    assert terms(bench)[-1].ahead_s == DAY_S


async def test_a_wall_clock_that_catches_up_in_small_steps_ends_the_term(bench):
    await lead_a_day_ahead(bench)
    async with bench.leading() as writer:
        for _ in range(2):
            bench.clock.set_wall(seconds=1.5)
            writer.submit(Add(1), by="t")
            await eventually(lambda: not writer.intake.waiting)
        await eventually(lambda: len(terms(bench)) == 3, within_s=10)
    assert terms(bench)[-1].ahead_s == DAY_S - 3


async def test_a_clock_that_is_a_second_behind_the_last_event_is_no_trouble(bench):
    async with bench.leading() as writer:
        await writer.submit(Add(1), by="t")
    bench.clock.set_wall(seconds=-1)
    async with bench.leading() as writer:
        await writer.submit(Add(1), by="t")
    assert [event.ahead_s for event in terms(bench)] == [0.0, 0.0]


async def test_a_clock_that_jumps_ahead_does_not_make_a_repeated_command_take_effect_twice(bench):
    async with bench.leading() as writer:
        first = await writer.submit(Add(5), by="t", id="c1")
    bench.clock.set_wall(days=1)
    async with bench.leading() as writer:
        await writer.submit(Add(1), by="t")
        assert await writer.submit(Add(5), by="t", id="c1") == first


async def test_the_same_holds_within_one_process(bench):
    async with bench.leading() as writer:
        first = await writer.submit(Add(5), by="t", id="c1")
        bench.clock.set_wall(days=1)
        writer.submit(Add(1), by="t")  # wakes the writer, which sees the set clock
        await eventually(lambda: writer.leading.is_set() and writer.epoch == 2, within_s=10)
        await writer.submit(Add(1), by="t")
        assert await writer.submit(Add(5), by="t", id="c1") == first


def test_a_standby_follows_the_time_of_a_leader_that_has_lost_some():
    """Nobody led for three hours. Then a new process did, which knew only the time of the last event."""
    clock = VirtualClock()
    time = PartitionTime(clock)
    ahead = clock.now() + timedelta(days=1)
    time.heard(ahead)
    clock.advance(hours=3)
    time.heard(ahead + timedelta(seconds=5))
    clock.advance(seconds=10)
    assert time.start_term(ahead + timedelta(seconds=5)) == ahead + timedelta(seconds=15)
