"""What can happen in the fleet. Additive only: a breaking change is a new type and an upcaster."""

from __future__ import annotations

from datetime import datetime

from drover.domain.event import Event, TermStarted


class PcRegistered(Event):
    pc_id: str
    capacity: int


class PcCapacityChanged(Event):
    pc_id: str
    capacity: int


class DeviceRegistered(Event):
    """A phone became known. It is offline until it is heard."""

    device_id: str
    serial_number: str
    group_id: str
    pc_id: str
    capabilities: list[str]


class DeviceCameOnline(Event):
    device_id: str


class DeviceWentOffline(Event):
    device_id: str
    last_seen: datetime | None
    """The last sign of life that telemetry held; a claim of a volatile record, kept for people."""


FleetEvent = TermStarted | PcRegistered | PcCapacityChanged | DeviceRegistered | DeviceCameOnline | DeviceWentOffline
