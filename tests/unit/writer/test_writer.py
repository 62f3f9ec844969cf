"""The decider runtime on a log in memory: group commit, bounds, idempotency, deadlines."""

import asyncio

from msgspec.structs import replace

from drover.bus.messages import Accepted, Rejected
from drover.domain.errors import Code
from drover.domain.event import TermStarted
from drover.testing.waiting import eventually
from drover.writer.intake import Intake

from .conftest import (
    TALLY,
    Add,
    Added,
    AlarmRang,
    Ask,
    Chain,
    Flood,
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
        await eventually(lambda: writer._term._ticks.parked_total == 1)
        for _ in range(100):
            await asyncio.sleep(0)
        assert writer._term._ticks.parked_total == 1
        assert isinstance(await writer.submit(Add(1), by="t"), Accepted)
        bench.clock.advance(seconds=61)
        await writer.submit(Add(1), by="t")
        await eventually(lambda: writer._term._ticks.parked_total == 2)


async def test_a_deadline_whose_event_cannot_be_folded_is_parked_once_and_the_writer_goes_on(bench):
    def evolve(state, event):
        if isinstance(event, AlarmRang):
            raise RuntimeError("evolve")
        return TALLY.evolve(state, event)

    async with bench.leading(decider=replace(TALLY, evolve=evolve)) as writer:
        await writer.submit(SetAlarm(1), by="t")
        bench.clock.advance(seconds=1)
        assert isinstance(await writer.submit(Add(1), by="t"), Accepted)
        assert writer._term._ticks.parked_total == 1


async def test_a_deadline_behind_a_crowd_of_reads_is_not_parked(bench):
    async with bench.leading() as writer:
        await writer.submit(SetAlarm(60), by="t")
        bench.clock.advance(seconds=61)
        await asyncio.gather(*(writer.submit(Ask(), by="t") for _ in range(600)))
        await eventually(lambda: any(isinstance(event, AlarmRang) for event in bench.log.events()))
        assert writer._term._ticks.parked_total == 0


async def test_what_follows_from_a_command_sees_its_effect_and_belongs_to_its_commit(bench):
    async with bench.leading() as writer:
        outcome = await writer.submit(Chain(1, steps=3), by="test", id="chain")
        assert writer.state.total == 8
        recorded = [event for event in bench.log.events() if isinstance(event, Added)]
        assert [event.amount for event in recorded] == [1, 1, 2, 4]
        assert {event.cause for event in recorded} == {"chain"}
        assert [event.n for event in recorded] == [2, 3, 4, 5]
        commit = (await bench.log.last()).seq
        assert outcome.position == commit


async def test_a_follow_up_that_raises_voids_the_whole_command_and_nothing_else(bench):
    async with bench.leading() as writer:
        bad = writer.submit(Chain(1, steps=2, raises=True), by="test")
        good = writer.submit(Add(5), by="test")
        assert (await bad).code == Code.INTERNAL
        assert isinstance(await good, Accepted)
        assert writer.state.total == 5
        assert added(bench) == [5]


async def test_a_follow_up_that_never_ends_is_stopped_at_the_bound_of_a_decision(bench):
    async with bench.leading() as writer:
        assert (await writer.submit(Chain(0, steps=10_000), by="test")).code == Code.INTERNAL
        assert added(bench) == []
        assert isinstance(await writer.submit(Add(5), by="test"), Accepted)
