"""A PC that vanishes, seen by presence beside the real writer of the fleet, at a virtual time."""

from __future__ import annotations

import asyncio

import pytest

from drover.bus.messages import Accepted
from drover.bus.telemetry import Beat, TelemetryBatch
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import RegisterDevice
from drover.eventlog.log import Partition
from drover.eventlog.memory import MemoryLog
from drover.eventlog.snapshots import MemorySnapshots
from drover.scheduler.watch import PresenceWatch
from drover.testing.clock import VirtualClock
from drover.testing.lease import LocalLease
from drover.testing.waiting import eventually
from drover.writer.snapshots import Snapshotter
from drover.writer.writer import Writer

HERE = [f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2, 3)]
THERE = ["00000000-0000-4000-8000-000000000009"]


class Hall:
    """Three phones on PC-01 and one on PC-02, all online."""

    def __init__(self):
        self.clock = VirtualClock()
        log, self.lease = MemoryLog(Partition("fleet")), LocalLease()
        snapshotter = Snapshotter(FLEET, log.partition, MemorySnapshots())
        self.writer = Writer(FLEET, log, self.lease, snapshotter, instance="test", clock=self.clock)
        self.watch = PresenceWatch(self.writer, self.clock)
        self._number = 0

    @property
    def alerts(self):
        return list(self.writer.state.alerts)

    async def open(self):
        for number, device_id in enumerate((*HERE, *THERE)):
            pc_id = "PC-02" if device_id in THERE else "PC-01"
            command = RegisterDevice(device_id, f"SERIAL000{number}", "P1-G1", pc_id)
            assert isinstance(await asyncio.wait_for(self.writer.submit(command, by="test"), 5), Accepted)
        await self.beat(*HERE, *THERE)
        assert all(device.alive for device in self.writer.state.devices.values())

    async def beat(self, *devices):
        self._number += 1
        beats = [Beat(device_id, self.clock.now(), None) for device_id in devices]
        self.watch.on_batch(TelemetryBatch("g1", self._number, beats))
        await self._settle()

    async def _settle(self):
        """Until the writer has answered all that presence asked for."""
        async with asyncio.timeout(5):
            while any(self.watch._client.is_under_way(device_id) for device_id in (*HERE, *THERE)):
                await asyncio.sleep(0)

    async def wait(self, seconds, *beating):
        for _ in range(seconds):
            self.clock.advance(seconds=1)
            await self.beat(*beating)
            self.watch.sweep()
            await self._settle()

    async def change_leader(self):
        epoch = self.writer.epoch
        self.lease.lose()

        async def leads_again():
            return self.writer.leading.is_set() and self.writer.epoch > epoch

        await eventually(leads_again)


@pytest.fixture
async def hall():
    hall = Hall()
    async with hall.writer.running():
        await asyncio.wait_for(hall.writer.leading.wait(), 5)
        await hall.open()
        yield hall


@pytest.mark.req("DF-04", "OQ-08")
async def test_a_pc_that_vanishes_is_an_alert_after_thirty_seconds_and_until_one_of_its_phones_is_heard(hall):
    await hall.wait(29, *THERE)
    assert hall.alerts == []
    await hall.wait(1, *THERE)
    assert hall.alerts == ["host_silent:PC-01"]
    await hall.beat(HERE[1])
    assert hall.alerts == []


@pytest.mark.req("DF-04", "EV-02")
async def test_a_change_of_leader_raises_no_alert_about_a_pc(hall):
    """Every timer starts again: what phones said while nobody led has not been lost with them."""
    await hall.wait(20, *THERE)
    await hall.change_leader()
    await hall.wait(29, *THERE)
    assert hall.alerts == []
    await hall.beat(*HERE, *THERE)
    await hall.wait(29, *THERE)
    assert hall.alerts == []


@pytest.mark.req("DF-04", "EV-02")
async def test_a_pc_that_is_still_away_after_a_change_of_leader_is_an_alert(hall):
    await hall.wait(20, *THERE)
    await hall.change_leader()
    await hall.wait(31, *THERE)  # the timers start with the first batch that it hears
    assert hall.alerts == ["host_silent:PC-01"]


@pytest.mark.req("DF-04")
async def test_telemetry_that_stops_altogether_raises_no_alert(hall):
    for _ in range(120):
        hall.clock.advance(seconds=1)
        hall.watch.sweep()
    await hall.beat(*THERE)
    hall.watch.sweep()
    assert hall.alerts == []
