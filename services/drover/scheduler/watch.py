"""Presence at work: telemetry in, `MarkOnline` and `MarkOffline` out, only while this process leads the fleet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import structlog
from nats.aio.client import Client

from drover.bus.messages import Outcome, Rejected
from drover.bus.telemetry import TelemetryBatch, listening
from drover.domain.decider import Command
from drover.domain.fleet.commands import MarkOffline, MarkOnline
from drover.domain.fleet.policy import OFFLINE_AFTER_S
from drover.domain.fleet.state import DeviceStatus, Fleet
from drover.scheduler.presence import Presence
from drover.service.tasks import end
from drover.writer.clock import Clock, SystemClock
from drover.writer.writer import Writer

SWEEP_EVERY_S: Final = 1.0
GAP_AFTER_S: Final = 3.0
"""Gateways send a batch at least every second; without any for this long, nothing is known about anybody."""

log = structlog.get_logger("drover.scheduler")


class PresenceWatch:
    def __init__(
        self,
        client: Client,
        writer: Writer[Fleet],
        clock: Clock | None = None,
        offline_after_s: float = OFFLINE_AFTER_S,
    ) -> None:
        self._client = client
        self._writer = writer
        self._clock = clock or SystemClock()
        self._presence = Presence(offline_after_s, GAP_AFTER_S)
        self._epoch = 0
        self._asked: set[str] = set()
        """Devices with a transition under way: at most one command each."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        sweeping = asyncio.create_task(self._sweep(), name="presence-sweep")
        try:
            async with listening(self._client, "fleet", self._on_batch):
                yield
        finally:
            await end(sweeping)

    def _fleet(self) -> Fleet | None:
        """The live fleet while this process leads; after a change of leader every timer starts again."""
        if not self._writer.leading.is_set():
            return None
        fleet = self._writer.state
        assert fleet is not None
        if self._writer.epoch != self._epoch:
            self._epoch = self._writer.epoch
            self._asked.clear()
            self._restart(fleet)
        return fleet

    def _restart(self, fleet: Fleet) -> None:
        online = (device.device_id for device in fleet.devices.values() if device.status is not DeviceStatus.OFFLINE)
        self._presence.restart(online, self._clock.elapsed_s())

    def _on_batch(self, batch: TelemetryBatch) -> None:
        now_s = self._clock.elapsed_s()
        gap = self._presence.is_gap(batch, now_s)
        fleet = self._fleet()
        if fleet is None:
            return
        if gap:
            log.info("presence_restarts", why="gap in telemetry", source=batch.source)
            self._restart(fleet)
        for beat in batch.beats:
            device = fleet.devices.get(beat.device_id)
            if device is None:
                continue
            self._presence.hear(beat.device_id, beat.seen_at, now_s, batch.source)
            if device.status is DeviceStatus.OFFLINE:
                self._ask(beat.device_id, MarkOnline(beat.device_id))

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_EVERY_S)
            fleet = self._fleet()
            if fleet is None:
                continue
            for silent in self._presence.take_silent(self._clock.elapsed_s()):
                device = fleet.devices.get(silent.device_id)
                if device is not None and device.status is DeviceStatus.ONLINE:
                    again = partial(self._presence.put_back, silent)
                    self._ask(silent.device_id, MarkOffline(silent.device_id, silent.last_seen), again)

    def _ask(self, device_id: str, command: Command, refused: Callable[[], None] | None = None) -> None:
        if device_id in self._asked:
            return
        self._asked.add(device_id)
        future = self._writer.submit(command, by="presence")

        def done(answered: asyncio.Future[Outcome]) -> None:
            self._asked.discard(device_id)
            if not answered.cancelled() and isinstance(outcome := answered.result(), Rejected):
                # The next heartbeat asks again for who came; who fell silent must be put back for the next sweep.
                log.info("presence_not_recorded", device_id=device_id, code=outcome.code)
                if refused is not None:
                    refused()

        future.add_done_callback(done)
