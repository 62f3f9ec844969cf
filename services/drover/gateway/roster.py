"""The fleet as this gateway knows it: the domain's fold, in memory. `feed` updates it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import structlog

from drover.domain.fleet import FLEET
from drover.domain.fleet.events import FleetEvent
from drover.domain.fleet.state import Device, Fleet

SUBSCRIBERS_MAX: Final = 16
"""Called for every commit, once each."""

Handle = Callable[[Sequence[FleetEvent]], None]

log = structlog.get_logger("drover.gateway")


class Roster:
    """Devices, jobs and live assignments. Grows only with the fleet, never with what clients send."""

    def __init__(self) -> None:
        self.complete = False
        """Whether it has caught up since its start: until then, a missing entry means nothing."""
        self.fleet: Fleet = FLEET.initial()
        self.seq = 0
        """The sequence of the last commit."""
        self._subscribers: list[Handle] = []

    def __len__(self) -> int:
        return len(self.fleet.devices)

    def restore(self, fleet: Fleet, seq: int) -> None:
        """Start with the fold of a snapshot."""
        assert self.seq == 0, self.seq
        self.fleet, self.seq = fleet, seq

    def apply(self, events: Sequence[FleetEvent], seq: int) -> None:
        """Fold the events of one commit, then call the subscribers."""
        assert seq > self.seq, (seq, self.seq)
        evolve, fleet = FLEET.evolve, self.fleet
        for event in events:
            fleet = evolve(fleet, event)
        self.fleet, self.seq = fleet, seq
        for handle in self._subscribers:
            try:
                handle(events)
            except Exception:  # one failing subscriber must not block the others
                log.exception("roster_subscriber_failed", subscriber=repr(handle), seq=seq)

    def subscribe(self, handle: Handle) -> None:
        """Call `handle` with the events of each commit. It must be fast: the next commit waits for it."""
        assert len(self._subscribers) < SUBSCRIBERS_MAX
        self._subscribers.append(handle)

    def device(self, serial_number: str) -> Device | None:
        """By the serial number, which the phone itself knows."""
        device_id = self.fleet.device_by_serial.get(serial_number)
        return None if device_id is None else self.fleet.devices[device_id]
