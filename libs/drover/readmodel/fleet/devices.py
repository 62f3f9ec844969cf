"""PCs and devices: the rows, and the columns that clients see."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

from drover.domain.fleet.state import DeviceStatus
from drover.readmodel.column import BigInt, pick, renamed
from drover.readmodel.relation import View, many, one, relation
from drover.readmodel.row import Row
from drover.readmodel.table import Index, KeyedTable

_fleet = partial(relation, "fleet")

STATUS_FUNCTION: Final = """\
-- The same rule as `Device.status` in the domain. PostgreSQL inlines the body.
CREATE FUNCTION device_status(error_rule text, running bool, alive bool) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN error_rule IS NOT NULL THEN 'error'
  WHEN running THEN 'busy'
  WHEN alive THEN 'online'
  ELSE 'offline'
END;
-- Frequencies of the statuses: without them PostgreSQL plans as if every status were rare.
CREATE STATISTICS device_rows_status ON (device_status(error_rule, running, alive)) FROM device_rows;
"""
"""The SQL function that computes a device's status, used by all SQL. A stored column would be as fast to read, but make
each write 25 % slower."""
STATUS: Final = "device_status(d.error_rule, d.running, d.alive)"


class PcRow(Row, frozen=True):
    id: str
    capacity: int
    created_at: datetime
    updated_at: datetime
    held_until: datetime | None = None
    """The PC gets no work until then, because all its phones failed."""


class Pc(PcRow, frozen=True, kw_only=True):
    """A PC, with the number of its devices by status."""

    device_count: BigInt
    online: BigInt
    offline: BigInt
    busy: BigInt
    error: BigInt


class PcDeviceSummary(Row, frozen=True):
    pc_id: str
    capacity: int
    running_count: int
    eligible_device_count: int
    """How many devices send signs of life, are not in error and, if a job is ACTIVE, are targets of it with the
    capabilities that it needs."""
    target: int


class DeviceFacts(Row, frozen=True):
    """The stored fields of a device that clients see, too."""

    id: UUID
    serial_number: str
    group_id: str
    pc_id: str
    capabilities: list[str]
    created_at: datetime
    updated_at: datetime
    error_until: datetime | None = None
    error_condition: str | None = None
    """The condition that must end before the device gets work again: `screen_locked`, `battery_low`, or `needs_reset`
    until a person resets the device."""
    held_until: datetime | None = None
    """The device gets no offer until then, because it did not fetch its last offers."""


class DeviceRow(DeviceFacts, frozen=True):
    """A device. Its status is computed: `error`; otherwise `busy` while something runs on it, `online` while it sends
    signs of life, else `offline`.

    Pages have free space, and columns that change often are in no index, so that updates stay on their page (HOT). For
    HOT, a column in the predicate of a partial index counts as an indexed column.
    """

    alive: bool = False
    running: bool = False
    assignment_id: UUID | None = None
    """The assignment of this device that holds a slot: offered, sent, running or about to be retried."""
    error_rule: str | None = None
    heard_at: datetime | None = None
    """The time of the last sign of life that an event reports. Telemetry may have a later one."""


class Device(DeviceFacts, frozen=True, kw_only=True):
    """A device as clients see it."""

    status: DeviceStatus
    last_seen_at: datetime | None
    """The time of the last sign of life, from events or telemetry. Telemetry is not in the log."""
    error_code: str | None
    """The name of the error rule that put the device into error."""


PCS: Final = KeyedTable(name="pc_rows", row=PcRow, key=("id",))
DEVICES: Final = KeyedTable(
    name="device_rows",
    row=DeviceRow,
    key=("id",),
    fillfactor=70,
    indices=(
        Index("device_rows_serial_number", "serial_number", unique=True),
        Index(
            "device_rows_serial",
            'serial_number COLLATE "C"',
            why="Ordered by serial number: all devices, or those of a PC or a group. By bytes, so that a prefix is"
            " a range.",
        ),
        Index("device_rows_pc_id", 'pc_id, serial_number COLLATE "C"'),
        Index("device_rows_group_id", 'group_id, serial_number COLLATE "C"'),
        Index("device_rows_in_error", 'serial_number COLLATE "C"', where="error_rule IS NOT NULL"),
    ),
)

COMPUTED: Final = {
    "status": STATUS,
    "last_seen_at": "greatest(d.heard_at, p.last_seen_at)",
    "error_code": "d.error_rule",
}
"""SQL of the computed columns, over a device (`device_rows d`) and its telemetry (`tel_fleet.presence p`)."""

RELATIONS: Final = (
    _fleet(
        "devices",
        Device,
        view=View("device_rows", "d", "LEFT JOIN tel_fleet.presence p ON p.device_id = d.id"),
        computed=COMPUTED,
        embeds=(one("pcs", "pc_id"), many("job_assignments", "device_id")),
        owner="id",
    ),
    _fleet("pcs", Pc, embeds=(many("devices", "pc_id"),)),
    _fleet(
        "workers",
        (
            *pick(PcRow, "id"),
            renamed(PcRow, "id", "pc_id", "w.id"),
            renamed(PcRow, "capacity", "device_capacity", "w.capacity"),
            renamed(PcRow, "capacity", "max_devices", "w.capacity"),
            *pick(PcRow, "held_until", "created_at", "updated_at"),
        ),
        view=View("pc_rows", "w"),
    ),
    _fleet("pc_device_summary", PcDeviceSummary, order=("pc_id",)),
)
