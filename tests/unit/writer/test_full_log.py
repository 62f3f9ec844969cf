"""A writer whose log is full: it refuses what it would have to record, answers the rest, and goes on by itself."""

import asyncio
from datetime import timedelta

import pytest

from drover.bus.messages import LOG_FULL, Accepted
from drover.domain.errors import Code
from drover.domain.event import TermStarted
from drover.eventlog.codec import Codec
from drover.eventlog.log import Commit
from drover.testing.lease import LocalLease
from drover.testing.scenario import NOON
from drover.testing.waiting import eventually
from drover.writer import writer as writer_module
from drover.writer.nats_lease import ClockSkewed
from drover.writer.refusals import RefusalCode
from drover.writer.room import LOOK

from .conftest import TALLY, Add, Added, AlarmRang, Ask, Chain, RaiseInEvolve, Refuse, SetAlarm

pytestmark = pytest.mark.req("YR-12")


def kinds(bench):
    return [type(event) for event in bench.log.events()]


def fill(bench):
    bench.log.bytes_max = 0


async def make_room(bench, writer):
    bench.log.bytes_max = None
    bench.clock.advance(seconds=LOOK.max_s)
    writer.intake.arrived.set()  # as its timer does; the virtual clock has none
    await eventually(lambda: not writer._term.room.is_full)


async def test_a_command_that_does_not_fit_is_refused_and_changes_nothing(bench):
    async with bench.leading() as writer:
        await writer.submit(Add(1), by="t")
        fill(bench)
        assert await writer.submit(Add(2), by="t") == LOG_FULL
        assert (await writer.submit(Ask(), by="t")).result == 1
        assert writer.leading.is_set() and writer.epoch == 1, "the term goes on"
    assert kinds(bench) == [TermStarted, Added]


async def test_what_records_nothing_is_answered_while_the_log_is_full(bench):
    async with bench.leading() as writer:
        first = await writer.submit(Add(1), by="t", id="c1")
        fill(bench)
        commands = (Add(2), Ask(), Refuse("no"), Chain(1, steps=1))
        outcomes = await asyncio.gather(*(writer.submit(command, by="t") for command in commands))
        assert [getattr(outcome, "code", "ok") for outcome in outcomes] == [
            Code.LOG_FULL,
            "ok",
            Code.LOG_FULL,
            Code.LOG_FULL,
        ]
        assert await writer.submit(Add(1), by="t", id="c1") == first, "a repeat of a recorded command"


async def test_commands_behind_the_one_that_did_not_fit_see_nothing_of_it(bench):
    async with bench.leading() as writer:
        bench.log.flowing.clear()
        in_flight = writer.submit(Add(1), by="t", id="c1")
        await eventually(lambda: not writer.intake.waiting)
        behind = [writer.submit(command, by="t", id=id_) for command, id_ in ((Ask(), "c2"), (Add(1), "c1"))]
        await eventually(lambda: not writer.intake.waiting)
        fill(bench)
        bench.log.flowing.set()
        outcomes = await asyncio.gather(in_flight, *behind)
        assert outcomes == [LOG_FULL, Accepted(0, 0), LOG_FULL]


async def test_a_refused_command_that_is_repeated_takes_effect_once(bench):
    async with bench.leading() as writer:
        fill(bench)
        assert await writer.submit(Add(5), by="t", id="c1") == LOG_FULL
        await make_room(bench, writer)
        outcomes = [await writer.submit(Add(5), by="t", id="c1") for _ in range(2)]
        assert isinstance(outcomes[0], Accepted) and outcomes[0] == outcomes[1]
        assert await writer.probe() is None and writer.refusal() is None
    assert kinds(bench) == [TermStarted, TermStarted, Added]
    assert [event.epoch for event in bench.log.events() if isinstance(event, TermStarted)] == [1, 2]
    assert [event.n for event in bench.log.events()] == [1, 2, 3]


async def test_a_full_log_is_the_answer_to_a_probe(bench):
    async with bench.leading() as writer:
        fill(bench)
        await writer.submit(Add(1), by="t")
        since = bench.clock.now()
        bench.clock.advance(seconds=0.5)
        refusal = await writer.probe()
        assert (refusal.code, refusal) == (RefusalCode.LOG_FULL, writer.refusal())
        assert "tally/main is full" in refusal.why and f"{since:%Y-%m-%d %H:%M} UTC" in refusal.why
        assert "DROVER_LOG_MAX" in refusal.remedy


async def test_a_deadline_waits_until_there_is_room_and_the_writer_does_not_spin(bench, monkeypatch):
    async with bench.leading() as writer:
        await writer.submit(SetAlarm(60), by="t")
        fill(bench)
        await writer.submit(Add(1), by="t")
        bench.clock.advance(seconds=0.5)
        turns = 0
        advance = writer._term._advance

        def counted():
            nonlocal turns
            turns += 1
            return advance()

        monkeypatch.setattr(writer._term, "_advance", counted)
        for _ in range(200):
            await asyncio.sleep(0)
        assert turns <= 2
        bench.clock.advance(seconds=120)
        writer.intake.arrived.set()
        await eventually(lambda: writer._term.room.look_in_s > 0)
        assert AlarmRang not in kinds(bench)
        await make_room(bench, writer)
        await eventually(lambda: AlarmRang in kinds(bench))


async def test_looks_for_room_become_rarer_until_a_command_is_stored(bench):
    async with bench.leading() as writer:
        room = writer._term.room
        fill(bench)
        pauses = []
        await writer.submit(Add(1), by="t")
        for _ in range(6):
            pauses.append(room.look_in_s)
            bench.clock.advance(seconds=room.look_in_s)
            writer.intake.arrived.set()
            await eventually(lambda: room.look_in_s)
        assert pauses == [1, 2, 4, 8, 15, 15]
        await make_room(bench, writer)
        fill(bench)  # there was room for the start of a term, but for nothing else
        await writer.submit(Add(1), by="t")
        assert room.look_in_s == 15
        await make_room(bench, writer)
        await writer.submit(Add(1), by="t")
        fill(bench)
        await writer.submit(Add(1), by="t")
        assert room.look_in_s == 1


async def test_a_writer_leads_as_read_only_if_the_log_is_full_when_it_starts(bench):
    async with bench.leading() as writer:
        await writer.submit(Add(1), by="t")
    fill(bench)
    async with bench.leading() as writer:
        assert (await writer.submit(Ask(), by="t")).result == 1
        assert await writer.submit(Add(1), by="t") == LOG_FULL
        await make_room(bench, writer)
        assert isinstance(await writer.submit(Add(1), by="t"), Accepted)
    assert kinds(bench) == [TermStarted, Added, TermStarted, Added]


async def test_a_writer_that_stops_while_the_log_is_full_hands_over(bench):
    async with bench.leading() as writer:
        fill(bench)
        await writer.submit(Add(1), by="t")
        async with bench.writer(lease=LocalLease(bench.lock)).running() as standby:
            await writer.stop()
            await asyncio.wait_for(standby.leading.wait(), 5)
            assert (await standby.submit(Ask(), by="t")).result == 0


async def test_a_stop_does_not_wait_for_a_look_for_room_that_gets_no_answer(bench, monkeypatch):
    monkeypatch.setattr(writer_module, "DRAIN_S", 0.05)
    async with bench.leading() as writer:
        fill(bench)
        await writer.submit(Add(1), by="t")
        bench.log.flowing.clear()
        bench.clock.advance(seconds=LOOK.max_s)
        waiting = writer.submit(Ask(), by="t")
        await asyncio.sleep(0)
        await asyncio.wait_for(writer.stop(), 5)
        assert (await waiting).code == Code.NOT_LEADER
    bench.log.flowing.set()
    bench.log.bytes_max = None
    async with bench.leading() as writer:
        assert (await writer.submit(Ask(), by="t")).result == 0


async def test_a_new_log_that_is_full_is_led_and_begins_once_there_is_room(bench):
    fill(bench)
    async with bench.leading() as writer:
        assert (await writer.submit(Ask(), by="t")).result == 0
        assert await writer.submit(Add(1), by="t") == LOG_FULL
        assert not bench.log.events()
        await make_room(bench, writer)
        assert isinstance(await writer.submit(Add(1), by="t"), Accepted)
    assert kinds(bench) == [TermStarted, Added]


async def test_a_snapshot_that_is_due_is_taken_while_the_log_is_full(bench):
    async with bench.leading(snapshot_every=3) as writer:
        await writer.submit(Add(1), by="t")
        fill(bench)
        outcomes = await asyncio.gather(*(writer.submit(Add(2), by="t") for _ in range(5)))
        assert outcomes == [LOG_FULL] * 5
        await make_room(bench, writer)
        await writer.submit(Add(4), by="t")
        fill(bench)
        await writer.submit(Add(8), by="t")
        assert (await writer.submit(Ask(), by="t")).result == 5
    infos = await bench.snapshots.infos(bench.log.partition)
    assert infos and all(info.seq <= len(bench.log._commits) for info in infos)


async def test_a_writer_that_was_overtaken_while_its_log_was_full_gives_up_its_term(bench):
    async with bench.leading() as writer:
        fill(bench)
        await writer.submit(Add(1), by="t")
        bench.log.bytes_max = None
        rival = TermStarted(9, "rival", n=2, at=bench.clock.now(), by="w", cause="z")
        await bench.log.append(Commit("rival", 9, Codec(TALLY.events).encode([rival])), 1)
        bench.clock.advance(seconds=LOOK.max_s)
        writer.intake.arrived.set()
        await eventually(lambda: writer.leading.is_set() and writer.epoch == 10)
        assert isinstance(await writer.submit(Add(1), by="t"), Accepted)


@pytest.mark.req("YR-13")
async def test_a_wrong_clock_is_noticed_before_a_look_for_room_stores_an_event(bench):
    class RightLease(LocalLease):
        """It refuses a clock that differs from that of NATS, as the real one does."""

        async def acquire(self):
            if bench.clock.now() > NOON + timedelta(hours=1):
                raise ClockSkewed(86_400.0)
            await super().acquire()

    async with bench.leading(lease=RightLease()) as writer:
        fill(bench)
        await writer.submit(Add(1), by="t")
        bench.clock.set_wall(days=1)
        bench.log.bytes_max = None
        bench.clock.advance(seconds=LOOK.max_s)
        writer.intake.arrived.set()
        await eventually(lambda: not writer.leading.is_set() or len(bench.log.events()) > 1)
        bench.clock.set_wall(days=-1)
        await eventually(lambda: writer.leading.is_set() and writer.epoch == 2, within_s=10)
    assert [event.at < NOON + timedelta(hours=1) for event in bench.log.events()] == [True, True]


async def test_an_evolve_that_raises_behind_a_commit_that_does_not_fit_loses_neither(bench):
    async with bench.leading() as writer:
        bench.log.flowing.clear()
        in_flight = writer.submit(Add(1), by="t")
        await eventually(lambda: not writer.intake.waiting)
        fill(bench)
        bad = writer.submit(RaiseInEvolve(), by="t")
        await asyncio.sleep(0)
        bench.log.flowing.set()
        assert await in_flight == LOG_FULL
        assert (await bad).code == Code.INTERNAL
        assert (await writer.submit(Ask(), by="t")).result == 0
