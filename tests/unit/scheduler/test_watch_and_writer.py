"""The watch beside the real writer of the real fleet, on a log in memory and at a virtual time."""

from __future__ import annotations

import asyncio

import pytest

from drover.bus.messages import Accepted
from drover.bus.telemetry import Beat, TelemetryBatch, Work
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import CreateJob, RegisterDevice, ReportFailed, ReportRunning, SendAttempt
from drover.eventlog.codec import Codec
from drover.eventlog.log import Partition
from drover.eventlog.memory import MemoryLog
from drover.eventlog.snapshots import MemorySnapshots
from drover.scheduler.watch import PresenceWatch
from drover.testing.clock import VirtualClock
from drover.testing.lease import LocalLease
from drover.writer.snapshots import Snapshotter
from drover.writer.writer import Writer

DEVICE = "00000000-0000-4000-8000-000000000001"
JOB = "00000000-0000-4000-8000-0000000000aa"


class Farm:
    """One phone that runs the one job there is."""

    def __init__(self):
        self.clock = VirtualClock()
        self.log = MemoryLog(Partition("fleet"))
        snapshotter = Snapshotter(FLEET, self.log.partition, MemorySnapshots())
        self.writer = Writer(FLEET, self.log, LocalLease(), snapshotter, instance="test", clock=self.clock)
        self.watch = PresenceWatch(self.writer, self.clock)
        self._number = 0

    @property
    def device(self):
        return self.writer.state.devices[DEVICE]

    @property
    def assignment(self):
        return self.writer.state.assignments.get(self.device.assignment)

    async def submit(self, command):
        outcome = await asyncio.wait_for(self.writer.submit(command, by="test"), 5)
        assert isinstance(outcome, Accepted), outcome

    async def beat(self, work=None, **claims):
        await self.batch(Beat(DEVICE, self.clock.now(), claims or None, work))

    async def batch(self, *beats):
        self._number += 1
        self.watch.on_batch(TelemetryBatch("g1", self._number, list(beats)))
        await self.settle()

    async def settle(self):
        """Until the writer has answered all that the watch asked for."""
        async with asyncio.timeout(5):
            while self.watch._client.is_under_way(DEVICE):
                await asyncio.sleep(0)

    async def wait(self, seconds, *, beating):
        for _ in range(seconds):
            self.clock.advance(seconds=1)
            await (self.beat() if beating else self.batch())
            self.watch.sweep()
            await self.settle()

    async def run_the_job(self):
        await self.submit(RegisterDevice(DEVICE, "SERIAL0001", "P1-G1", "PC-01"))
        await self.beat()
        await self.submit(CreateJob(job_id=JOB, target_url="https://youtu.be/abc"))
        await self.submit(SendAttempt(self.assignment.assignment_id, self.assignment.run))
        await self.submit(ReportRunning(self.assignment.assignment_id, self.assignment.run))
        await self.beat()
        assert self.device.status == "busy"

    def happened_since(self, start):
        codec = Codec.of(FLEET)
        events = [event for commit in self.log._commits for event in codec.decode(commit.payload)]
        return [type(event).__name__ for event in events if event.at > start]


@pytest.fixture
async def farm():
    farm = Farm()
    async with farm.writer.running():
        await asyncio.wait_for(farm.writer.leading.wait(), 5)
        await farm.run_the_job()
        yield farm


@pytest.mark.req("DF-04", "DF-05")
async def test_a_busy_phone_stays_busy_for_sixty_seconds_and_then_its_work_waits_for_it(farm):
    start = farm.clock.now()
    await farm.wait(59, beating=False)
    assert farm.device.status == "busy"
    await farm.wait(1, beating=False)
    assert farm.device.status == "offline"
    assert farm.happened_since(start)[:2] == ["AttemptRolledBack", "DeviceWentOffline"]
    await farm.beat()
    assert farm.device.status == "online"


@pytest.mark.req("DF-18")
async def test_work_that_stands_still_has_failed_after_120_s_though_its_phone_is_heard(farm):
    start = farm.clock.now()
    await farm.beat(Work(farm.assignment.assignment_id, farm.assignment.run, 40))
    await farm.wait(119, beating=True)
    assert farm.happened_since(start) == []
    await farm.wait(1, beating=True)
    assert farm.happened_since(start) == ["AttemptFailed", "RetryScheduled"]
    assert farm.assignment.error_code == "PLAYBACK_STALLED"


@pytest.mark.req("DF-22")
async def test_a_locked_phone_is_in_error_while_it_comes_and_goes_until_it_says_that_it_is_unlocked(farm):
    await farm.submit(ReportFailed(farm.assignment.assignment_id, farm.assignment.run, error_code="SCREEN_LOCKED"))
    assert farm.device.status == "error"
    await farm.wait(30, beating=False)
    assert (farm.device.alive, farm.device.status) == (False, "error")
    await farm.beat(screen_locked=True)
    assert (farm.device.alive, farm.device.status) == (True, "error")
    await farm.beat(screen_locked=False)
    assert farm.device.error is None
