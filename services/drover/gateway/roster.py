"""The fleet as this gateway knows it: the domain's own fold, in memory. What feeds and what asks it live elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import structlog

from drover.domain.fleet import FLEET
from drover.domain.fleet.events import FleetEvent
from drover.domain.fleet.state import Device, Fleet

SUBSCRIBERS_MAX: Final = 16
"""Parts of this process that want to hear of every commit, each once; what they serve is their own business."""

Handle = Callable[[Sequence[FleetEvent]], None]

log = structlog.get_logger("drover.gateway")


class Roster:
    """Devices, jobs and live assignments. Grows with the fleet, and with nothing that a client can send."""

    def __init__(self) -> None:
        self.complete = False
        """Whether it has all that was there when it started: until then, what it does not know means nothing."""
        self.fleet: Fleet = FLEET.initial()
        self.seq = 0
        """The commit it stands at."""
        self._subscribers: list[Handle] = []

    def __len__(self) -> int:
        return len(self.fleet.devices)

    def restore(self, fleet: Fleet, seq: int) -> None:
        """Begin with a fold that somebody else has made."""
        assert self.seq == 0, self.seq
        self.fleet, self.seq = fleet, seq

    def apply(self, events: Sequence[FleetEvent], seq: int) -> None:
        """Fold the events of one commit, then tell whoever wants to know."""
        assert seq > self.seq, (seq, self.seq)
        evolve, fleet = FLEET.evolve, self.fleet
        for event in events:
            fleet = evolve(fleet, event)
        self.fleet, self.seq = fleet, seq
        for handle in self._subscribers:
            try:
                handle(events)
            except Exception:  # one part's fault must not keep the others from knowing the fleet
                log.exception("roster_subscriber_failed", subscriber=repr(handle), seq=seq)

    def subscribe(self, handle: Handle) -> None:
        """Call `handle` after each commit, with its events. It must be quick: the next commit waits for it."""
        assert len(self._subscribers) < SUBSCRIBERS_MAX
        self._subscribers.append(handle)

    def device(self, serial_number: str) -> Device | None:
        """By the name that the phone itself knows."""
        device_id = self.fleet.device_by_serial.get(serial_number)
        return None if device_id is None else self.fleet.devices[device_id]
