"""What can be asked of the fleet."""

from __future__ import annotations

from datetime import datetime

from drover.domain.decider import Command, Tick
from drover.domain.fleet.policy import PC_CAPACITY_DEFAULT


class RegisterPc(Command):
    """Make a PC known, or change its capacity."""

    pc_id: str
    capacity: int = PC_CAPACITY_DEFAULT


class RegisterDevice(Command):
    """Make a phone known. A PC that nobody registered yet comes with it."""

    device_id: str
    serial_number: str
    group_id: str
    pc_id: str
    capabilities: tuple[str, ...] = ()


class MarkOnline(Command):
    """Presence heard an offline device."""

    device_id: str


class MarkOffline(Command):
    """Presence has not heard an online device for too long."""

    device_id: str
    last_seen: datetime | None = None


FleetCommand = RegisterPc | RegisterDevice | MarkOnline | MarkOffline | Tick
