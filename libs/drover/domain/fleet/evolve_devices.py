"""Applies the events of PCs and devices to the state."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from drover.domain.fleet import events as e
from drover.domain.fleet.index import (
    add_to_route,
    forget,
    refresh,
    refresh_pc,
    set_alive,
)
from drover.domain.fleet.state import (
    Device,
    DeviceError,
    DeviceSettings,
    DeviceSpec,
    Fleet,
    Pc,
)
from drover.domain.fleet.timer_keys import device_timer, pc_timer
from drover.domain.spec import fields_of


def _pc_registered(fleet: Fleet, event: e.PcRegistered) -> None:
    pc = Pc(event.pc_id, event.capacity, event.at, event.at)
    fleet.pcs[event.pc_id] = pc
    supply = fleet.supply
    if supply is not None and supply.route is None and supply.cursor == len(fleet.pc_order):
        # The new PC has no devices yet, so the search counts it as checked.
        supply.cursor += 1
        pc.seen_in = supply.look
    fleet.pc_order.append(event.pc_id)


def _pc_capacity_changed(fleet: Fleet, event: e.PcCapacityChanged) -> None:
    pc = fleet.pcs[event.pc_id]
    pc.capacity, pc.updated_at = event.capacity, event.at
    refresh_pc(fleet, pc)


def _pc_held(fleet: Fleet, event: e.PcHeld) -> None:
    pc = fleet.pcs[event.pc_id]
    pc.held_until, pc.updated_at = event.until, event.at
    pc.failing.clear()
    fleet.timers.set(pc_timer(pc.pc_id), event.until)
    _refresh_devices(fleet, pc)


def _pc_hold_ended(fleet: Fleet, event: e.PcHoldEnded) -> None:
    pc = fleet.pcs[event.pc_id]
    pc.held_until, pc.updated_at = None, event.at
    fleet.timers.clear(pc_timer(pc.pc_id))
    _refresh_devices(fleet, pc)


def _refresh_devices(fleet: Fleet, pc: Pc) -> None:
    for device_id in pc.devices:
        refresh(fleet, fleet.devices[device_id])


def _device_registered(fleet: Fleet, event: e.DeviceRegistered) -> None:
    device = Device(device_id=event.device_id, created_at=event.at, updated_at=event.at, **fields_of(DeviceSpec, event))
    fleet.devices[event.device_id] = device
    fleet.device_by_serial[event.serial_number] = event.device_id
    _move_in(fleet, device)


def _device_changed(fleet: Fleet, event: e.DeviceChanged) -> None:
    device = fleet.devices[event.device_id]
    forget(fleet, device)
    pc = fleet.pcs[device.pc_id]
    del pc.devices[device.device_id]
    pc.failing.pop(device.device_id, None)
    if event.pc_id != device.pc_id:
        pc.silent.pop(device.device_id, None)
    del fleet.groups[device.group_id][device.device_id]
    for name, value in fields_of(DeviceSettings, event).items():
        setattr(device, name, value)
    device.updated_at = event.at
    _move_in(fleet, device)


def _move_in(fleet: Fleet, device: Device) -> None:
    pc = fleet.pcs[device.pc_id]
    pc.devices[device.device_id] = None
    pc.heard += device.alive
    fleet.groups.setdefault(device.group_id, {})[device.device_id] = None
    device.countable = device.free = device.back = device.expected = False
    add_to_route(fleet, device)
    refresh(fleet, device)


def _device_came_online(fleet: Fleet, event: e.DeviceCameOnline) -> None:
    device = fleet.devices[event.device_id]
    set_alive(fleet, device, alive=True)
    fleet.pcs[device.pc_id].silent.pop(device.device_id, None)
    device.updated_at = event.at
    refresh(fleet, device)


def _device_went_offline(fleet: Fleet, event: e.DeviceWentOffline) -> None:
    device = fleet.devices[event.device_id]
    set_alive(fleet, device, alive=False)
    fleet.pcs[device.pc_id].silent[device.device_id] = event.at
    device.updated_at = event.at
    refresh(fleet, device)


def _device_quarantined(fleet: Fleet, event: e.DeviceQuarantined) -> None:
    device = fleet.devices[event.device_id]
    device.error = DeviceError(event.rule, event.until, event.condition, event.job_id)
    device.updated_at = event.at
    if event.condition is None:
        fleet.pcs[device.pc_id].failing[device.device_id] = event.at
    _arm_device(fleet, device)
    refresh(fleet, device)


def _device_released(fleet: Fleet, event: e.DeviceReleased) -> None:
    _end_error(fleet, fleet.devices[event.device_id], event.at)


def _device_reset(fleet: Fleet, event: e.DeviceReset) -> None:
    device = fleet.devices[event.device_id]
    set_alive(fleet, device, alive=False)
    _end_error(fleet, device, event.at)


def _end_error(fleet: Fleet, device: Device, at: datetime) -> None:
    device.error, device.failures, device.crashes, device.updated_at = None, 0, 0, at
    fleet.pcs[device.pc_id].failing.pop(device.device_id, None)
    _arm_device(fleet, device)
    refresh(fleet, device)


def _device_held(fleet: Fleet, event: e.DeviceHeld) -> None:
    device = fleet.devices[event.device_id]
    device.held_until, device.untaken, device.updated_at = event.until, event.untaken, event.at
    _arm_device(fleet, device)
    refresh(fleet, device)


def _device_hold_ended(fleet: Fleet, event: e.DeviceHoldEnded) -> None:
    device = fleet.devices[event.device_id]
    device.held_until, device.updated_at = None, event.at
    _arm_device(fleet, device)
    refresh(fleet, device)


def _arm_device(fleet: Fleet, device: Device) -> None:
    error_ends = None if device.error is None else device.error.until
    moments = [at for at in (error_ends, device.held_until) if at is not None]
    if moments:
        fleet.timers.set(device_timer(device.device_id), min(moments))
    else:
        fleet.timers.clear(device_timer(device.device_id))


EVOLVE: Final[dict[type, Callable[[Fleet, Any], None]]] = {
    e.PcRegistered: _pc_registered,
    e.PcCapacityChanged: _pc_capacity_changed,
    e.PcHeld: _pc_held,
    e.PcHoldEnded: _pc_hold_ended,
    e.DeviceRegistered: _device_registered,
    e.DeviceChanged: _device_changed,
    e.DeviceCameOnline: _device_came_online,
    e.DeviceWentOffline: _device_went_offline,
    e.DeviceQuarantined: _device_quarantined,
    e.DeviceReleased: _device_released,
    e.DeviceReset: _device_reset,
    e.DeviceHeld: _device_held,
    e.DeviceHoldEnded: _device_hold_ended,
}
