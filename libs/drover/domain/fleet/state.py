"""What the fleet's decider knows. Small by design: history is in the log, presence in memory of the scheduler."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class DeviceStatus(StrEnum):
    ONLINE = "online"
    OFFLINE = "offline"
    BUSY = "busy"
    ERROR = "error"


class Pc(msgspec.Struct):
    pc_id: str
    capacity: int


class Device(msgspec.Struct):
    device_id: str
    serial_number: str
    group_id: str
    pc_id: str
    capabilities: list[str]
    status: DeviceStatus = DeviceStatus.OFFLINE


class Fleet(msgspec.Struct):
    pcs: dict[str, Pc] = {}
    devices: dict[str, Device] = {}
    device_by_serial: dict[str, str] = {}
