"""Watches the telemetry of devices: sends commands to the fleet's writer when a device falls silent, stalls or comes
back. Only the leading process does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import structlog
from nats.aio.client import Client

from drover.bus.telemetry import TelemetryBatch, listening
from drover.domain.fleet.commands import MarkStalled
from drover.domain.fleet.policy import AD_HOLDS_S, OFFLINE_AFTER_S, STALLED_AFTER_S
from drover.domain.fleet.presence import can_stall
from drover.domain.fleet.state import Device, Fleet
from drover.scheduler.command_client import CommandClient
from drover.scheduler.presence import Presence
from drover.scheduler.sources import Sources
from drover.scheduler.stalls import Stalls
from drover.scheduler.transitions import after_silence, is_watched, on_sign_of_life, running_on
from drover.service.tasks import in_background
from drover.writer.clock import Clock, SystemClock
from drover.writer.writer import Writer

SWEEP_EVERY_S: Final = 1.0
SWEEP_AGAIN_S: Final = 0.05
"""Seconds between two checks while more devices are overdue than commands may be sent at once."""
GAP_AFTER_S: Final = 3.0
"""After this many seconds without a message of a gateway, its telemetry counts as lost. Gateways send at least once per
second."""

log = structlog.get_logger("drover.scheduler")


class PresenceWatch:
    def __init__(self, writer: Writer[Fleet], clock: Clock | None = None) -> None:
        self._writer = writer
        self._clock = clock or SystemClock()
        self._sources = Sources(GAP_AFTER_S)
        self._presence = Presence(OFFLINE_AFTER_S, self._sources)
        self._stalls = Stalls(STALLED_AFTER_S, AD_HOLDS_S)
        self._client = CommandClient(partial(writer.submit, by="presence"))
        self._later: dict[str, dict[str, Any]] = {}
        """Devices that sent a sign of life when no command could be sent for them, with their reports. The next check
        handles them."""
        self._missed: set[str] = set()
        """Gateways whose telemetry may have been lost in part since the last check."""
        self._missed_all = False
        """Whether all gateways were silent since the last check."""
        self._epoch = 0

    @asynccontextmanager
    async def running(self, client: Client) -> AsyncIterator[None]:
        async with (
            in_background(self._keep_sweeping(), name="presence-sweep"),
            listening(client, "fleet", self.on_batch),
        ):
            yield

    async def _keep_sweeping(self) -> None:
        crowded = False
        while True:
            await asyncio.sleep(SWEEP_AGAIN_S if crowded else SWEEP_EVERY_S)
            try:
                crowded = self.sweep()
            except Exception:
                # Without sweeps the work of lost phones would never be retried, and nobody would notice.
                log.exception("presence_sweep_failed", alert=True)
                crowded = False

    def _fleet(self) -> Fleet | None:
        """Return the current state of the fleet; None if this process does not lead. After a change of leader, restart
        all timers."""
        if not self._writer.leading.is_set():
            return None
        fleet = self._writer.state
        assert fleet is not None
        if self._writer.epoch != self._epoch:
            self._epoch = self._writer.epoch
            self._client.forget_all()
            self._later.clear()
            self._restart(fleet)
        return fleet

    def _restart(self, fleet: Fleet) -> None:
        self._missed.clear()
        self._missed_all = False
        now_s = self._clock.elapsed_s()
        watched = [device for device in fleet.devices.values() if is_watched(device)]
        self._presence.restart((device.device_id for device in watched), now_s)
        self._stalls.restart(
            (work for device in watched if (work := running_on(fleet, device.device_id)) is not None), now_s
        )

    def _restart_missed(self, fleet: Fleet, now_s: float) -> None:
        """Restart the timers of the devices whose telemetry may have been lost."""
        if self._missed_all:
            self._restart(fleet)
        elif self._missed:
            self._stalls.restart_of(self._presence.restart_of(self._missed, now_s), now_s)
            self._missed.clear()

    def on_batch(self, batch: TelemetryBatch) -> None:
        now_s = self._clock.elapsed_s()
        nobody_spoke = self._sources.are_all_silent(now_s)
        gap = self._sources.is_gap(batch, now_s)
        fleet = self._fleet()
        if fleet is None:
            return
        if gap and batch.source not in self._missed:
            # The next sweep restarts the timers first. Not here: on a bad connection every batch may follow a gap, and
            # a restart looks at all devices.
            log.info("presence_restarts", why="gap in telemetry", source=batch.source, all=nobody_spoke)
            self._missed.add(batch.source)
            self._missed_all |= nobody_spoke
        for beat in batch.beats:
            device = fleet.devices.get(beat.device_id)
            if device is None:
                continue
            self._presence.hear(beat.device_id, beat.seen_at, now_s, batch.source)
            if (running := running_on(fleet, beat.device_id)) is not None:
                self._stalls.hear(running, beat.work, now_s)
            self._answer_sign(device, beat.reported)

    def _answer_sign(self, device: Device, claims: dict[str, Any] | None) -> None:
        """Send the commands that follow from a sign of life, or note it for the next check: an agent may report only
        once that its screen is unlocked."""
        device_id = device.device_id
        if earlier := self._later.pop(device_id, None):
            claims = earlier | (claims or {})
        commands = on_sign_of_life(device, claims)
        # While a command for the device is in flight, its state is not up to date: decide later.
        wanted = bool(commands) or self._client.is_under_way(device_id)
        if wanted and not (commands and self._client.send(device_id, commands)):
            self._later[device_id] = claims or {}

    def sweep(self) -> bool:
        """Handle noted signs of life, silent devices and stalled attempts. True: too many commands are unanswered to
        send more."""
        fleet, now_s = self._fleet(), self._clock.elapsed_s()
        if fleet is None:
            return False
        self._restart_missed(fleet, now_s)
        self._sweep_signs(fleet)
        self._sweep_silent(fleet, now_s)
        self._sweep_stalled(fleet, now_s)
        return not self._client.has_room()

    def _sweep_signs(self, fleet: Fleet) -> None:
        for device_id in list(self._later):
            if not self._client.has_room():
                return
            if (device := fleet.devices.get(device_id)) is not None:
                self._answer_sign(device, None)
            else:
                del self._later[device_id]

    def _sweep_silent(self, fleet: Fleet, now_s: float) -> None:
        if not self._client.has_room():
            return
        for silent in self._presence.overdue(now_s):
            device = fleet.devices.get(silent.device_id)
            if device is None or not is_watched(device):
                self._presence.forget(silent.device_id)
            elif (command := after_silence(device, silent)) is not None:
                self._client.send(device.device_id, [command], partial(self._silence_answered, device.device_id))
                if not self._client.has_room():
                    return

    def _silence_answered(self, device_id: str, accepted: bool) -> None:
        if accepted:
            self._presence.start_again(device_id, self._clock.elapsed_s())

    def _sweep_stalled(self, fleet: Fleet, now_s: float) -> None:
        for attempt in self._stalls.take_stalled(now_s):
            device_id = attempt.device_id
            running = running_on(fleet, device_id)
            if running is None or not attempt.is_of(running):
                self._stalls.forget(device_id)
            elif not can_stall(running) or not self._presence.is_heard(device_id, now_s):
                # Not stalled: the attempt cannot stall yet, or the device is silent, which `_sweep_silent` handles. If
                # the device comes back in time, its attempt gets the full time again.
                self._stalls.put_back(device_id, now_s, start_again=True)
            else:
                command = MarkStalled(attempt.assignment_id, attempt.run)
                if not self._client.send(device_id, [command], partial(self._stall_answered, device_id)):
                    self._stalls.put_back(device_id, now_s)

    def _stall_answered(self, device_id: str, accepted: bool) -> None:
        self._stalls.put_back(device_id, self._clock.elapsed_s(), start_again=accepted)
