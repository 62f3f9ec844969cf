"""A clock that is a day ahead for one term of a writer, then right again: the real rules, on virtual time."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from drover.bus.messages import Accepted
from drover.domain.decider import Tick
from drover.domain.fleet import FLEET
from drover.domain.fleet import commands as f
from drover.domain.fleet import events as fe
from drover.domain.fleet.policy import JOB_LIVES
from drover.domain.reminder import REMINDER
from drover.domain.reminder import commands as r
from drover.eventlog.codec import Codec
from drover.eventlog.log import Partition
from drover.eventlog.memory import MemoryLog
from drover.eventlog.snapshots import MemorySnapshots
from drover.testing.clock import VirtualClock
from drover.testing.lease import LocalLease
from drover.testing.waiting import eventually
from drover.writer.snapshots import Snapshotter
from drover.writer.writer import Writer

pytestmark = pytest.mark.req("YR-13")

PAGE, USER, JOB = "page-1", "user_1", "00000000-0000-4000-8000-000000000001"


class Log(MemoryLog):
    def events_of(self, decider, kind):
        codec = Codec.of(decider)
        return [event for commit in self._commits for event in codec.decode(commit.payload) if isinstance(event, kind)]


class House:
    """A writer, its log and its clock."""

    def __init__(self, decider):
        self.decider = decider
        self.clock = VirtualClock()
        self.log = Log(Partition(decider.context))

    @asynccontextmanager
    async def leading(self):
        snapshotter = Snapshotter(self.decider, self.log.partition, MemorySnapshots())
        lease = LocalLease(asyncio.Lock())
        writer = Writer(self.decider, self.log, lease, snapshotter, instance="w", clock=self.clock)
        async with writer.running():
            await writer.leading.wait()
            yield writer

    async def lead_a_day_ahead(self):
        self.clock.set_wall(days=1)
        async with self.leading():
            pass
        self.clock.set_wall(days=-1)


async def done(writer, command):
    outcome = await writer.submit(command, by="t")
    assert isinstance(outcome, Accepted), outcome
    return outcome.result


async def test_no_alarm_is_sent_a_day_early():
    house = House(REMINDER)
    async with house.leading() as writer:
        await done(writer, r.RegisterByPage(PAGE, USER, "title", "body"))
        (claimed,) = await done(writer, r.ClaimDue(10, "s"))
        sending = (PAGE, claimed["sending"], claimed["life"], claimed["attempt"])
        await done(writer, r.ReportSent(*sending, notification_id="n"))
        await done(writer, r.Schedule(PAGE, USER, house.clock.now() + timedelta(hours=12)))
    await house.lead_a_day_ahead()
    async with house.leading() as writer:
        house.clock.advance(hours=11)
        assert not await done(writer, r.ClaimDue(10, "s"))
        house.clock.advance(hours=1)
        assert await done(writer, r.ClaimDue(10, "s"))


async def test_no_scheduled_job_starts_a_day_early_or_late():
    house = House(FLEET)
    async with house.leading() as writer:
        not_before = house.clock.now() + timedelta(hours=36)  # it is not due by the wrong clock either
        await done(writer, f.CreateJob(job_id=JOB, target_url="https://youtu.be/abc", not_before=not_before))
    await house.lead_a_day_ahead()
    async with house.leading() as writer:
        house.clock.advance(hours=35)
        await writer.submit(Tick(), by="t")
        assert not house.log.events_of(FLEET, fe.JobCameDue)
        house.clock.advance(hours=1)
        await writer.submit(Tick(), by="t")
        await eventually(lambda: house.log.events_of(FLEET, fe.JobCameDue))


async def test_a_job_expires_in_its_time():
    house = House(FLEET)
    await house.lead_a_day_ahead()
    async with house.leading() as writer:
        await done(writer, f.CreateJob(job_id=JOB, target_url="https://youtu.be/abc"))
        house.clock.advance(seconds=JOB_LIVES.total_seconds() - 1)
        await writer.submit(Tick(), by="t")
        assert not house.log.events_of(FLEET, fe.JobExpired)
        house.clock.advance(seconds=1)
        await writer.submit(Tick(), by="t")
        await eventually(lambda: house.log.events_of(FLEET, fe.JobExpired))
