"""Decides the commands that register, change and reset PCs and devices."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import asdict

from drover.domain.alerts import resolve_alert
from drover.domain.decider import NOTHING, Decision, accept, reject
from drover.domain.errors import Code
from drover.domain.event import Event
from drover.domain.fleet.alerts import HOST_SILENT, NEEDS_RESET
from drover.domain.fleet.commands import ChangeDevice, RegisterDevice, RegisterPc, ResetDevice
from drover.domain.fleet.events import (
    DeviceChanged,
    DeviceRegistered,
    DeviceReleased,
    DeviceReset,
    PcCapacityChanged,
    PcRegistered,
)
from drover.domain.fleet.policy import DEVICES_PER_PC_MAX, PC_CAPACITY_DEFAULT
from drover.domain.fleet.state import Device, DeviceSettings, Fleet
from drover.domain.fleet.supply import follow_up
from drover.domain.spec import changed, spec_of


def unknown_device(device_id: str) -> Decision:
    return reject(Code.NOT_FOUND, "Device not found", device_id=device_id)


def register_pc(fleet: Fleet, command: RegisterPc, now: datetime) -> Decision:
    known = fleet.pcs.get(command.pc_id)
    if known is None:
        return accept(PcRegistered(command.pc_id, command.capacity))
    if command.is_new:
        message = "This PC is already registered"
        return reject(Code.UNIQUE_VIOLATION, message, field="pc_id", value=command.pc_id, id=command.pc_id)
    if known.capacity != command.capacity:
        return accept(PcCapacityChanged(command.pc_id, command.capacity), then=follow_up())
    return NOTHING


def register_device(fleet: Fleet, command: RegisterDevice, now: datetime) -> Decision:
    if refusal := _registered_already(fleet, command):
        return refusal
    if refusal := _no_room(fleet, command.pc_id):
        return refusal
    return accept(*_new_pc(fleet, command.pc_id), DeviceRegistered(**asdict(command)))


def _registered_already(fleet: Fleet, command: RegisterDevice) -> Decision | None:
    """Refuse an id or a serial number that is taken. The refusal names the device that has it, so that an upsert can
    change that device. It also names the device's PC, so that an enrolment can tell whether the phone is on the PC that
    enrols."""
    existing = fleet.device_by_serial.get(command.serial_number)
    id_taken = command.device_id in fleet.devices
    if existing is None:
        return _is_registered(fleet, "id", "id", command.device_id, command.device_id) if id_taken else None
    if id_taken and existing != command.device_id:
        message = "The id and the serial number belong to two different devices"
        return reject(Code.CONFLICT, message, field="id", value=command.device_id)
    return _is_registered(fleet, "serial number", "serial_number", command.serial_number, existing)


def _is_registered(fleet: Fleet, name: str, field: str, value: str, existing: str) -> Decision:
    message = f"A device with this {name} is already registered"
    pc_id = fleet.devices[existing].pc_id
    return reject(Code.UNIQUE_VIOLATION, message, field=field, value=value, id=existing, pc_id=pc_id)


def _no_room(fleet: Fleet, pc_id: str) -> Decision | None:
    pc = fleet.pcs.get(pc_id)
    if pc is None or len(pc.devices) < DEVICES_PER_PC_MAX:
        return None
    return reject(Code.CONFLICT, f"{pc_id} has {DEVICES_PER_PC_MAX} devices, which is the maximum", field="pc_id")


def _new_pc(fleet: Fleet, pc_id: str) -> list[Event]:
    return [] if pc_id in fleet.pcs else [PcRegistered(pc_id, PC_CAPACITY_DEFAULT)]


def change_device(fleet: Fleet, command: ChangeDevice, now: datetime) -> Decision:
    device = fleet.devices.get(command.device_id)
    if device is None:
        return unknown_device(command.device_id)
    before = spec_of(DeviceSettings, device)
    settings = changed(before, command)
    if settings == before:
        return NOTHING
    pc_id = settings.pc_id
    if pc_id != device.pc_id:
        if device.assignment is not None:
            return reject(Code.CONFLICT, "The device is working; move it when its work has ended", field="pc_id")
        if refusal := _no_room(fleet, pc_id):
            return refusal
    over = _host_silent_over(fleet, device, pc_id) if pc_id != device.pc_id else []
    event = DeviceChanged(device.device_id, **asdict(settings))
    return accept(*_new_pc(fleet, pc_id), event, *over, then=follow_up())


def _host_silent_over(fleet: Fleet, device: Device, pc_id: str) -> list[Event]:
    """Resolve the alerts about silent PCs that a device's move ends: its old PC has no phone left, or its new PC has
    one that sends signs of life."""
    events: list[Event] = []
    if len(fleet.pcs[device.pc_id].devices) == 1:
        events += resolve_alert(fleet, HOST_SILENT, device.pc_id, "moved")
    if device.alive:
        events += resolve_alert(fleet, HOST_SILENT, pc_id, "heard")
    return events


def reset_device(fleet: Fleet, command: ResetDevice, now: datetime) -> Decision:
    device = fleet.devices.get(command.device_id)
    if device is None:
        return unknown_device(command.device_id)
    if device.error is None:
        return NOTHING
    over = resolve_alert(fleet, NEEDS_RESET, device.device_id, "reset")
    # A device that runs work counts as alive. Any other one is offline until its next sign of life.
    ended = DeviceReleased(device.device_id, "reset") if device.running else DeviceReset(device.device_id)
    return accept(ended, *over, then=follow_up())
