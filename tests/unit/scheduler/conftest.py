"""A fleet, a writer that records what it is asked for, and gateways, all at a virtual time."""

from __future__ import annotations

import asyncio

import pytest

from drover.bus.messages import Accepted
from drover.bus.telemetry import Beat, TelemetryBatch, Work
from drover.domain.fleet.state import Assignment, Device, DeviceError, Fleet, Phase
from drover.scheduler.watch import PresenceWatch
from drover.testing.clock import VirtualClock


class RecordingWriter:
    """Stands in for the fleet's writer: what is asked of it waits until the test answers."""

    def __init__(self):
        self.leading = asyncio.Event()
        self.leading.set()
        self.epoch = 1
        self.state = Fleet()
        self.waiting = []

    def submit(self, command, *, by):
        assert by == "presence"
        future = asyncio.get_running_loop().create_future()
        self.waiting.append((command, future))
        return future

    def asked(self):
        return [command for command, _ in self.waiting]

    async def answer(self, outcome=None):
        """Answer all that waits. The state is the test's business."""
        waiting, self.waiting = self.waiting, []
        for _, future in waiting:
            future.set_result(outcome or Accepted(1))
        await asyncio.sleep(0)
        return [command for command, _ in waiting]


class Hall:
    """The watch under test and everything around it."""

    def __init__(self):
        self.clock = VirtualClock()
        self.writer = RecordingWriter()
        self.watch = PresenceWatch(self.writer, self.clock)
        self.gateways = ["g1"]
        """Those that speak."""
        self._numbers = {}

    @property
    def fleet(self):
        return self.writer.state

    def device(self, device_id="d1", *, alive=True, running=False, condition=None, in_error=False):
        now = self.clock.now()
        device = Device(
            device_id=device_id,
            serial_number=device_id.upper(),
            group_id="P1-G1",
            pc_id="PC-01",
            capabilities=[],
            created_at=now,
            updated_at=now,
            alive=alive,
        )
        if condition or in_error:
            device.error = DeviceError("SCREEN_LOCKED", None, condition, None)
        self.fleet.devices[device_id] = device
        if running:
            self.start(device_id)
        return device

    def start(self, device_id="d1", run=1, progress_pct=0):
        assignment_id = f"a-{device_id}"
        device = self.fleet.devices[device_id]
        device.running, device.assignment = True, assignment_id
        self.fleet.assignments[assignment_id] = Assignment(
            assignment_id, "j1", device_id, self.clock.now(), phase=Phase.RUNNING, run=run, progress_pct=progress_pct
        )

    def end(self, device_id="d1"):
        device = self.fleet.devices[device_id]
        del self.fleet.assignments[device.assignment]
        device.running, device.assignment = False, None

    def batch(self, gateway, *beats, lost=0):
        self._numbers[gateway] = number = self._numbers.get(gateway, 0) + 1 + lost
        self.watch.on_batch(TelemetryBatch(gateway, number, list(beats)))

    def beat(self, *device_ids, work=None, **claims):
        """All gateways speak, and the first has heard these devices."""
        now = self.clock.now()
        first, *others = self.gateways
        self.batch(first, *(Beat(device_id, now, claims or None, work) for device_id in device_ids))
        for gateway in others:
            self.batch(gateway)

    def work(self, progress_pct, device_id="d1", run=1, **says):
        return Work(f"a-{device_id}", run, progress_pct, **says)

    def wait(self, seconds, *beating):
        """Second by second: gateways speak, with a beat of who is said to beat, and the watch sweeps."""
        for _ in range(seconds):
            self.clock.advance(seconds=1)
            self.beat(*beating)
            self.watch.sweep()

    def asked_within(self, seconds, *beating):
        """After how many seconds something was asked for, and what; None if nothing was."""
        for second in range(1, seconds + 1):
            self.wait(1, *beating)
            if self.writer.waiting:
                return second, self.writer.asked()
        return None


@pytest.fixture
async def hall():
    return Hall()
