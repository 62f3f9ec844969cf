"""Whether a writer would accept a command now: asked of the loop that decides commands, and never recorded."""

import asyncio
import time
from datetime import UTC, datetime

import pytest
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout

from drover.bus.messages import Accepted
from drover.eventlog.log import Partition, Unsettled
from drover.testing.waiting import eventually
from drover.writer import writer as writing
from drover.writer.acceptance import REMOVED_WITHIN_S, _why_silent
from drover.writer.intake import Intake
from drover.writer.nats_lease import Holder, KnownLease
from drover.writer.refusals import RefusalCode

from .conftest import Add

FLEET = Partition("fleet")


@pytest.fixture
def hasty(monkeypatch):
    monkeypatch.setattr(writing, "PROBE_S", 0.05)


async def test_an_idle_leader_accepts_and_records_nothing_for_being_asked(bench):
    async with bench.leading() as writer:
        before = await bench.log.context_end()
        assert [await writer.probe() for _ in range(3)] == [None] * 3
        assert await bench.log.context_end() == before


async def test_a_busy_leader_accepts(bench):
    async with bench.leading() as writer:
        probing = asyncio.create_task(writer.probe())
        outcomes = await asyncio.gather(*(writer.submit(Add(1), by="test") for _ in range(500)))
        assert all(isinstance(outcome, Accepted) for outcome in outcomes)
        assert await probing is None


async def test_a_leader_answers_no_sooner_than_the_commit_that_was_in_flight(bench):
    async with bench.leading() as writer:
        bench.log.flowing.clear()
        adding = writer.submit(Add(1), by="test")
        await eventually(lambda: not writer.intake.waiting)
        probing = asyncio.create_task(writer.probe())
        await eventually(lambda: writer.intake.probes)
        assert not probing.done()
        bench.log.flowing.set()
        assert await probing is None
        assert isinstance(await adding, Accepted)


async def test_a_commit_that_is_not_acknowledged_refuses_until_it_lands(bench, hasty):
    async with bench.leading() as writer:
        bench.log.flowing.clear()
        adding = writer.submit(Add(1), by="test")
        await eventually(lambda: not writer.intake.waiting)
        assert (await writer.probe()).code is RefusalCode.STUCK
        bench.log.unsettled = Unsettled(time.monotonic() - 7, "10077 maximum bytes exceeded")
        refusal = await writer.probe()
        assert (refusal.code, refusal) == (RefusalCode.APPEND_UNSETTLED, writer.refusal())
        assert "tally/main" in refusal.why and "for 7 s (10077 maximum bytes exceeded)" in refusal.why
        bench.log.unsettled = None
        bench.log.flowing.set()
        await adding
        assert await writer.probe() is None
        assert writer.refusal() is None


async def test_a_lease_that_cannot_be_renewed_refuses_before_it_lapses(bench):
    async with bench.leading() as writer:
        bench.lease.trouble = "no answer in time"
        refusal = await writer.probe()
        assert (refusal.code, refusal) == (RefusalCode.LEASE_NOT_RENEWED, writer.refusal())
        assert "restart nats-server" in refusal.remedy
        bench.lease.trouble = None
        assert await writer.probe() is None


async def test_a_leader_whose_lease_may_be_somebody_elses_refuses(bench):
    async with bench.leading() as writer:
        bench.lease.suspend()
        assert (await writer.probe()).code is RefusalCode.TERM_OVER


async def test_those_who_ask_at_the_end_of_a_term_are_told_so(bench):
    async with bench.leading() as writer:
        bench.log.flowing.clear()
        adding = writer.submit(Add(1), by="test")
        await eventually(lambda: not writer.intake.waiting)
        probing = asyncio.create_task(writer.probe())
        await eventually(lambda: writer.intake.probes)
        bench.lease.lose()
        bench.log.flowing.set()
        assert (await probing).code is RefusalCode.TERM_OVER
        await adding


async def test_a_leader_with_no_room_for_commands_refuses(bench, hasty):
    async with bench.leading(intake=Intake(limit=0)) as writer:
        assert (await writer.probe()).code is RefusalCode.OVERLOADED


def lease(left_s):
    return KnownLease(Holder("one", "token", datetime(2026, 1, 1, tzinfo=UTC)), left_s)


@pytest.mark.parametrize(
    ("known", "error", "code", "names_it"),
    [
        (None, NoRespondersError(), RefusalCode.NO_LEADER, False),
        (lease(-1), NoRespondersError(), RefusalCode.NO_LEADER, False),
        (lease(-REMOVED_WITHIN_S - 1), NatsTimeout(), RefusalCode.LEASE_STALE, True),
        (lease(5), NoRespondersError(), RefusalCode.NOT_LISTENING, True),
        (lease(5), NatsTimeout(), RefusalCode.NO_ANSWER, True),
    ],
)
def test_why_nobody_answered_follows_from_the_lease(known, error, code, names_it):
    refusal = _why_silent(FLEET, known, error)
    assert refusal.code is code
    assert "fleet/main" in refusal.why
    assert ("one" in refusal.why) is names_it
    assert refusal.remedy
