"""The roster: the gateway's copy of the fleet's state, in memory. `feed` updates it from the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import structlog

from drover.domain.fleet import FLEET
from drover.domain.fleet.events import FleetEvent
from drover.domain.fleet.state import Device, Fleet

SUBSCRIBERS_MAX: Final = 16
"""Maximum of subscribers: all of them are called for every commit."""

Handle = Callable[[Sequence[FleetEvent]], None]

log = structlog.get_logger("drover.gateway")


class Roster:
    """Devices, open jobs and assignments, and those that ended lately. Its size depends on the fleet and its open work
    only, never on what clients send."""

    def __init__(self) -> None:
        self.complete = False
        """Whether the roster has read the log up to its end once. Until then, a device that is not in it may still
        exist."""
        self.fleet: Fleet = FLEET.initial()
        self.seq = 0
        """The sequence number of the last commit that was applied."""
        self._subscribers: list[Handle] = []

    def __len__(self) -> int:
        return len(self.fleet.devices)

    def restore(self, fleet: Fleet, seq: int) -> None:
        """Start with the state of a snapshot."""
        assert self.seq == 0, self.seq
        self.fleet, self.seq = fleet, seq

    def apply(self, events: Sequence[FleetEvent], seq: int) -> None:
        """Apply the events of one commit, then call the subscribers."""
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

    def knows_work(self, id_: str) -> bool:
        """Whether a job or an assignment with this id is in the roster, open or ended."""
        fleet = self.fleet
        return id_ in fleet.jobs or id_ in fleet.assignments or id_ in fleet.ended

    def device(self, serial_number: str) -> Device | None:
        """Find a device by its serial number, which the phone itself knows. None: the roster has no such device."""
        device_id = self.fleet.device_by_serial.get(serial_number)
        return None if device_id is None else self.fleet.devices[device_id]
