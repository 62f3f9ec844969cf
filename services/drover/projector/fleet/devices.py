"""Rows of PCs and devices, including a device's current assignment. The assignments are in `assignments.py`."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from msgspec.structs import replace

from drover.domain.fleet.events import (
    DeviceCameOnline,
    DeviceChanged,
    DeviceHeld,
    DeviceHoldEnded,
    DeviceQuarantined,
    DeviceRegistered,
    DeviceReleased,
    DeviceReset,
    DeviceWentOffline,
    PcCapacityChanged,
    PcHeld,
    PcHoldEnded,
    PcRegistered,
)
from drover.domain.fleet.state import DeviceSettings, DeviceSpec
from drover.domain.spec import fields_of
from drover.projection.projection import Tables, change, need
from drover.projection.rule import Rule, Rules
from drover.projector.fleet.keys import device_of
from drover.readmodel.fleet.devices import DEVICES, PCS, DeviceRow, PcRow


def _pc_registered(tables: Tables, event: PcRegistered) -> None:
    tables.put(PCS, PcRow(event.pc_id, event.capacity, event.at, event.at))


def _pc_capacity_changed(tables: Tables, event: PcCapacityChanged) -> None:
    change(tables, PCS, event.pc_id, capacity=event.capacity, updated_at=event.at)


def _pc_held(tables: Tables, event: PcHeld) -> None:
    change(tables, PCS, event.pc_id, held_until=event.until, updated_at=event.at)


def _pc_hold_ended(tables: Tables, event: PcHoldEnded) -> None:
    change(tables, PCS, event.pc_id, held_until=None, updated_at=event.at)


def _device_registered(tables: Tables, event: DeviceRegistered) -> None:
    row = DeviceRow(id=device_of(event), created_at=event.at, updated_at=event.at, **fields_of(DeviceSpec, event))
    tables.put(DEVICES, row)


def _change(tables: Tables, event: Any, **fields: Any) -> None:
    change(tables, DEVICES, device_of(event), updated_at=event.at, **fields)


def _device_changed(tables: Tables, event: DeviceChanged) -> None:
    _change(tables, event, **fields_of(DeviceSettings, event))


def _device_came_online(tables: Tables, event: DeviceCameOnline) -> None:
    _change(tables, event, alive=True, heard_at=event.at)


def _device_went_offline(tables: Tables, event: DeviceWentOffline) -> None:
    heard_at = event.last_seen or need(tables, DEVICES, device_of(event)).heard_at
    _change(tables, event, alive=False, heard_at=heard_at)


def _device_quarantined(tables: Tables, event: DeviceQuarantined) -> None:
    _change(tables, event, error_rule=event.rule, error_until=event.until, error_condition=event.condition)


_WELL: Final[dict[str, Any]] = {"error_rule": None, "error_until": None, "error_condition": None}


def _device_released(tables: Tables, event: DeviceReleased) -> None:
    _change(tables, event, **_WELL)


def _device_reset(tables: Tables, event: DeviceReset) -> None:
    _change(tables, event, **_WELL, alive=False)


def _device_held(tables: Tables, event: DeviceHeld) -> None:
    _change(tables, event, held_until=event.until)


def _device_hold_ended(tables: Tables, event: DeviceHoldEnded) -> None:
    _change(tables, event, held_until=None)


# Changes to a device's row that its work causes; `assignments.py` calls these.


def take_slot(tables: Tables, device_id: UUID, assignment_id: UUID) -> None:
    change(tables, DEVICES, device_id, assignment_id=assignment_id)


def set_running(tables: Tables, device_id: UUID, running: bool, at: datetime) -> None:
    change(tables, DEVICES, device_id, running=running, updated_at=at)


def free_slot(tables: Tables, device_id: UUID, assignment_id: UUID, at: datetime | None) -> None:
    """Remove the assignment from its device, if it is the device's current work. An assignment that only waited
    for the device is not its current work.

    `at`: the time of the event, if the device's work has ended or was lost; it becomes `updated_at` of the device.
    None: `updated_at` stays the same.
    """
    device = need(tables, DEVICES, device_id)
    updated_at = at or device.updated_at
    if device.assignment_id == assignment_id:
        tables.put(DEVICES, replace(device, assignment_id=None, running=False, updated_at=updated_at))
    elif at is not None:
        tables.put(DEVICES, replace(device, updated_at=updated_at))


_PC: Final = ((PCS, lambda e: e.pc_id),)
_DEVICE: Final = ((DEVICES, device_of),)

DEVICE_RULES: Final[Rules] = {
    PcRegistered: Rule(_pc_registered, lambda e: (e.pc_id,)),
    PcCapacityChanged: Rule(_pc_capacity_changed, lambda e: (e.pc_id,), _PC),
    PcHeld: Rule(_pc_held, lambda e: (e.pc_id,), _PC),
    PcHoldEnded: Rule(_pc_hold_ended, lambda e: (e.pc_id,), _PC),
    DeviceRegistered: Rule(_device_registered, lambda e: (e.device_id, e.pc_id)),
    DeviceChanged: Rule(_device_changed, lambda e: (e.device_id, e.pc_id), _DEVICE),
    DeviceCameOnline: Rule(_device_came_online, lambda e: (e.device_id,), _DEVICE),
    DeviceWentOffline: Rule(_device_went_offline, lambda e: (e.device_id,), _DEVICE),
    DeviceQuarantined: Rule(
        _device_quarantined, lambda e: (e.device_id,) if e.job_id is None else (e.device_id, e.job_id), _DEVICE
    ),
    DeviceReleased: Rule(_device_released, lambda e: (e.device_id,), _DEVICE),
    DeviceReset: Rule(_device_reset, lambda e: (e.device_id,), _DEVICE),
    DeviceHeld: Rule(_device_held, lambda e: (e.device_id,), _DEVICE),
    DeviceHoldEnded: Rule(_device_hold_ended, lambda e: (e.device_id,), _DEVICE),
}
