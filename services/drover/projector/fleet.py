"""The fleet's projection: PCs, devices and the table of events. Its SQL is `fleet.sql`; it does no I/O."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from importlib.resources import files
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec
from msgspec.structs import replace

from drover.domain.event import TermStarted
from drover.domain.fleet import FLEET
from drover.domain.fleet.events import (
    DeviceCameOnline,
    DeviceRegistered,
    DeviceWentOffline,
    FleetEvent,
    PcCapacityChanged,
    PcRegistered,
)
from drover.domain.fleet.state import DeviceStatus
from drover.postgres.types import uuid_of
from drover.projection.event_table import EVENTS, EVENTS_DDL, append_event
from drover.projection.projection import KeyedTable, Position, Projection, Reads, Tables, need

_ONLINE: Final = DeviceStatus.ONLINE.value  # looked up once: this is done for every event
_OFFLINE: Final = DeviceStatus.OFFLINE.value


class PcRow(msgspec.Struct, frozen=True, gc=False):
    id: str
    capacity: int
    created_at: datetime
    updated_at: datetime


class DeviceRow(msgspec.Struct, frozen=True, gc=False):
    id: UUID
    serial_number: str
    group_id: str
    pc_id: str
    status: str
    capabilities: list[str]
    heard_at: datetime | None
    created_at: datetime
    updated_at: datetime


PCS: Final = KeyedTable(
    name="pc_rows",
    row=PcRow,
    types={"id": "text", "capacity": "int", "created_at": "timestamptz", "updated_at": "timestamptz"},
    key=("id",),
)
DEVICES: Final = KeyedTable(
    name="device_rows",
    row=DeviceRow,
    types={
        "id": "uuid",
        "serial_number": "text",
        "group_id": "text",
        "pc_id": "text",
        "status": "text",
        "capabilities": "text[]",
        "heard_at": "timestamptz",
        "created_at": "timestamptz",
        "updated_at": "timestamptz",
    },
    key=("id",),
)


def _term_started(tables: Tables, event: TermStarted) -> None:
    """A change of writer is an event to show, and nothing more."""


def _pc_registered(tables: Tables, event: PcRegistered) -> None:
    tables.put(PCS, PcRow(event.pc_id, event.capacity, event.at, event.at))


def _pc_capacity_changed(tables: Tables, event: PcCapacityChanged) -> None:
    tables.put(PCS, replace(need(tables, PCS, event.pc_id), capacity=event.capacity, updated_at=event.at))


def _device_registered(tables: Tables, event: DeviceRegistered) -> None:
    tables.put(
        DEVICES,
        DeviceRow(
            uuid_of(event.device_id),
            event.serial_number,
            event.group_id,
            event.pc_id,
            _OFFLINE,
            event.capabilities,
            None,
            event.at,
            event.at,
        ),
    )


def _device_came_online(tables: Tables, event: DeviceCameOnline) -> None:
    device = need(tables, DEVICES, uuid_of(event.device_id))
    tables.put(DEVICES, replace(device, status=_ONLINE, heard_at=event.at, updated_at=event.at))


def _device_went_offline(tables: Tables, event: DeviceWentOffline) -> None:
    device = need(tables, DEVICES, uuid_of(event.device_id))
    heard_at = event.last_seen or device.heard_at
    tables.put(DEVICES, replace(device, status=_OFFLINE, heard_at=heard_at, updated_at=event.at))


class _Rule(NamedTuple):
    """What one type of event means here."""

    apply: Callable[[Tables, Any], None]
    entities: Callable[[Any], tuple[str, ...]]
    """Ids of what it is about."""


def _device_of(event: Any) -> UUID:
    return uuid_of(event.device_id)


_RULES: Final[dict[type, _Rule]] = {
    TermStarted: _Rule(_term_started, lambda e: ()),
    PcRegistered: _Rule(_pc_registered, lambda e: (e.pc_id,)),
    PcCapacityChanged: _Rule(_pc_capacity_changed, lambda e: (e.pc_id,)),
    DeviceRegistered: _Rule(_device_registered, lambda e: (e.device_id, e.pc_id)),
    DeviceCameOnline: _Rule(_device_came_online, lambda e: (e.device_id,)),
    DeviceWentOffline: _Rule(_device_went_offline, lambda e: (e.device_id,)),
}
_READS: Final[Reads] = {
    TermStarted: (),
    PcRegistered: (),
    PcCapacityChanged: ((PCS, lambda e: e.pc_id),),
    DeviceRegistered: (),
    DeviceCameOnline: ((DEVICES, _device_of),),
    DeviceWentOffline: ((DEVICES, _device_of),),
}


def fold(tables: Tables, event: Any, raw: str, position: Position) -> None:
    apply, entities = _RULES[type(event)]
    append_event(tables, event, entities(event), raw, position)
    apply(tables, event)


FLEET_PROJECTION: Final = Projection(
    context="fleet",
    name="fleet",
    schema="rm_fleet",
    ddl=EVENTS_DDL + (files("drover.projector") / "fleet.sql").read_text(encoding="utf-8"),
    tables=(PCS, DEVICES, EVENTS),
    fold=fold,
    reads=_READS,
    events=FleetEvent,
    upcasters=FLEET.upcasters,
)
