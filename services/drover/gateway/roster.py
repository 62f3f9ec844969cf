"""Who is in the fleet, in memory, folded from its events. What feeds it and what asks it live elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec

from drover.domain.event import Event
from drover.domain.fleet.events import (
    DeviceCameOnline,
    DeviceRegistered,
    DeviceWentOffline,
)
from drover.domain.fleet.state import DeviceStatus


class RosterDevice(msgspec.Struct):
    """A phone as far as the edge must know it."""

    id: str
    serial_number: str
    group_id: str
    pc_id: str
    status: DeviceStatus
    capabilities: list[str]
    created_at: datetime
    updated_at: datetime


class Roster:
    """Devices by serial number and by id. Grows with the fleet, and with nothing that a client can send."""

    def __init__(self) -> None:
        self.complete = False
        """Whether it has everybody who was there when it started: until then, not found means nothing."""
        self.by_id: dict[str, RosterDevice] = {}
        self.by_serial: dict[str, RosterDevice] = {}

    def __len__(self) -> int:
        return len(self.by_id)

    def apply(self, event: Event) -> None:
        """Fold one event. Events that say nothing about who is there or how they are pass by."""
        fold = _FOLD.get(type(event))
        if fold is not None:
            fold(self, event)


def _registered(roster: Roster, event: DeviceRegistered) -> None:
    device = RosterDevice(
        event.device_id,
        event.serial_number,
        event.group_id,
        event.pc_id,
        DeviceStatus.OFFLINE,
        event.capabilities,
        event.at,
        event.at,
    )
    roster.by_id[device.id] = roster.by_serial[device.serial_number] = device


def _came_online(roster: Roster, event: DeviceCameOnline) -> None:
    _change(roster, event, DeviceStatus.ONLINE)


def _went_offline(roster: Roster, event: DeviceWentOffline) -> None:
    _change(roster, event, DeviceStatus.OFFLINE)


def _change(roster: Roster, event: DeviceCameOnline | DeviceWentOffline, status: DeviceStatus) -> None:
    device = roster.by_id[event.device_id]
    device.status, device.updated_at = status, event.at


_FOLD: Final[dict[type[Event], Callable[[Roster, Any], None]]] = {
    DeviceRegistered: _registered,
    DeviceCameOnline: _came_online,
    DeviceWentOffline: _went_offline,
}
