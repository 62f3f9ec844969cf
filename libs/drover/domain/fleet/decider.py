"""The fleet's rules: who is known, who is online. Pure; the cost of a decision does not grow with the fleet."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from drover.domain.decider import NOTHING, Decider, Decision, Tick, accept, reject
from drover.domain.errors import Code
from drover.domain.event import Event, TermStarted
from drover.domain.fleet.commands import FleetCommand, MarkOffline, MarkOnline, RegisterDevice, RegisterPc
from drover.domain.fleet.events import (
    DeviceCameOnline,
    DeviceRegistered,
    DeviceWentOffline,
    FleetEvent,
    PcCapacityChanged,
    PcRegistered,
)
from drover.domain.fleet.policy import (
    CAPABILITIES_MAX,
    CAPABILITY_PATTERN,
    DEVICE_ID_PATTERN,
    GROUP_PATTERN,
    PC_CAPACITY_DEFAULT,
    PC_CAPACITY_MAX,
    PC_ID_PATTERN,
    SERIAL_PATTERN,
)
from drover.domain.fleet.state import Device, DeviceStatus, Fleet, Pc

_TEXT_RULES: Final = {
    "device_id": re.compile(DEVICE_ID_PATTERN),
    "serial_number": re.compile(SERIAL_PATTERN),
    "group_id": re.compile(GROUP_PATTERN),
    "pc_id": re.compile(PC_ID_PATTERN),
}
_CAPABILITY: Final = re.compile(CAPABILITY_PATTERN)


def _invalid(field: str, value: object, message: str) -> Decision:
    return reject(Code.VALIDATION_ERROR, message, field=field, value=value)


def _check_text(**fields: str) -> Decision | None:
    for field, value in fields.items():
        # fullmatch: `$` alone would let a trailing line feed through.
        if not (rule := _TEXT_RULES[field]).fullmatch(value):
            return _invalid(field, value, f"{field} must match {rule.pattern}")
    return None


def register_pc(fleet: Fleet, command: RegisterPc, now: datetime) -> Decision:
    if refusal := _check_text(pc_id=command.pc_id):
        return refusal
    if not 1 <= command.capacity <= PC_CAPACITY_MAX:
        return _invalid("capacity", command.capacity, f"capacity must be between 1 and {PC_CAPACITY_MAX}")
    known = fleet.pcs.get(command.pc_id)
    if known is None:
        return accept(PcRegistered(command.pc_id, command.capacity))
    if known.capacity != command.capacity:
        return accept(PcCapacityChanged(command.pc_id, command.capacity))
    return NOTHING


def register_device(fleet: Fleet, command: RegisterDevice, now: datetime) -> Decision:
    refusal = _check_text(
        device_id=command.device_id,
        serial_number=command.serial_number,
        group_id=command.group_id,
        pc_id=command.pc_id,
    ) or _check_capabilities(command.capabilities)
    if refusal:
        return refusal
    if command.device_id in fleet.devices or command.serial_number in fleet.device_by_serial:
        return reject(
            Code.UNIQUE_VIOLATION,
            "A device with this serial number is already registered",
            field="serial_number",
            value=command.serial_number,
        )
    events: list[Event] = []
    if command.pc_id not in fleet.pcs:
        events.append(PcRegistered(command.pc_id, PC_CAPACITY_DEFAULT))
    events.append(
        DeviceRegistered(
            command.device_id, command.serial_number, command.group_id, command.pc_id, list(command.capabilities)
        )
    )
    return accept(*events)


def _check_capabilities(capabilities: Sequence[str]) -> Decision | None:
    if len(capabilities) > CAPABILITIES_MAX:
        return _invalid("capabilities", len(capabilities), f"at most {CAPABILITIES_MAX} capabilities")
    for capability in capabilities:
        if not _CAPABILITY.fullmatch(capability):
            return _invalid("capabilities", capability, f"each capability must match {CAPABILITY_PATTERN}")
    return None


def mark_online(fleet: Fleet, command: MarkOnline, now: datetime) -> Decision:
    device = fleet.devices.get(command.device_id)
    if device is None:
        return _unknown_device(command.device_id)
    if device.status is not DeviceStatus.OFFLINE:
        return NOTHING
    return accept(DeviceCameOnline(command.device_id))


def mark_offline(fleet: Fleet, command: MarkOffline, now: datetime) -> Decision:
    device = fleet.devices.get(command.device_id)
    if device is None:
        return _unknown_device(command.device_id)
    if device.status is not DeviceStatus.ONLINE:
        return NOTHING
    return accept(DeviceWentOffline(command.device_id, command.last_seen))


def _unknown_device(device_id: str) -> Decision:
    return reject(Code.NOT_FOUND, "Device not found", device_id=device_id)


def tick(fleet: Fleet, command: Tick, now: datetime) -> Decision:
    return NOTHING


_DECIDE: Final[dict[type, Callable[[Fleet, Any, datetime], Decision]]] = {
    RegisterPc: register_pc,
    RegisterDevice: register_device,
    MarkOnline: mark_online,
    MarkOffline: mark_offline,
    Tick: tick,
}


def decide(fleet: Fleet, command: FleetCommand, now: datetime) -> Decision:
    return _DECIDE[type(command)](fleet, command, now)


def _pc_registered(fleet: Fleet, event: PcRegistered) -> None:
    fleet.pcs[event.pc_id] = Pc(event.pc_id, event.capacity)


def _pc_capacity_changed(fleet: Fleet, event: PcCapacityChanged) -> None:
    fleet.pcs[event.pc_id].capacity = event.capacity


def _device_registered(fleet: Fleet, event: DeviceRegistered) -> None:
    fleet.devices[event.device_id] = Device(
        event.device_id, event.serial_number, event.group_id, event.pc_id, event.capabilities
    )
    fleet.device_by_serial[event.serial_number] = event.device_id


def _device_came_online(fleet: Fleet, event: DeviceCameOnline) -> None:
    fleet.devices[event.device_id].status = DeviceStatus.ONLINE


def _device_went_offline(fleet: Fleet, event: DeviceWentOffline) -> None:
    fleet.devices[event.device_id].status = DeviceStatus.OFFLINE


def _term_started(fleet: Fleet, event: TermStarted) -> None:
    """A change of writer says nothing about phones."""


_EVOLVE: Final[dict[type, Callable[[Fleet, Any], None]]] = {
    TermStarted: _term_started,
    PcRegistered: _pc_registered,
    PcCapacityChanged: _pc_capacity_changed,
    DeviceRegistered: _device_registered,
    DeviceCameOnline: _device_came_online,
    DeviceWentOffline: _device_went_offline,
}


def evolve(fleet: Fleet, event: FleetEvent) -> Fleet:
    _EVOLVE[type(event)](fleet, event)
    return fleet


def next_deadline(fleet: Fleet) -> datetime | None:
    return None


def answer(events: Sequence[FleetEvent]) -> Any:
    """The representation of what was written, as a client that asked for it sees it."""
    for event in reversed(events):
        if isinstance(event, DeviceRegistered):
            return {
                "id": event.device_id,
                "serial_number": event.serial_number,
                "group_id": event.group_id,
                "pc_id": event.pc_id,
                "status": DeviceStatus.OFFLINE,
                "capabilities": event.capabilities,
                "last_seen_at": None,
                "created_at": event.at,
                "updated_at": event.at,
            }
        if isinstance(event, (PcRegistered, PcCapacityChanged)):
            return {"id": event.pc_id, "capacity": event.capacity}
    return None


FLEET: Final = Decider(
    context="fleet",
    initial=Fleet,
    decide=decide,
    evolve=evolve,
    next_deadline=next_deadline,
    answer=answer,
    commands=FleetCommand,
    events=FleetEvent,
    state=Fleet,
)
