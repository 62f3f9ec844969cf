"""Writes of `devices`: registrations, heartbeats, and what the back office changes.

A PATCH with `group_id`, `pc_id` or `capabilities` changes the device. `{"error": null}` or `{"status": "offline"}` from
the back office resets a device that is in error: it is offline until its next sign of life. On other devices this does
nothing. Any other PATCH is a heartbeat, and one with `{"status": "error"}` puts the device into error for a while. The
module `heartbeat` answers most heartbeats itself and does not call this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType
from uuid_utils import uuid7

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.fleet.commands import ChangeDevice, RegisterDevice, ReportDeviceError, ResetDevice
from drover.domain.fleet.state import DeviceStatus
from drover.gateway.device_lookup import absent
from drover.gateway.rows import Row, device_row
from drover.gateway.tables.device_bodies import DeviceChange
from drover.gateway.writes.declaration import Insert, Merge, Result, Target, Update, WriteTable
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.sending import Sending
from drover.gateway.writes.shown import live, recorded
from drover.readmodel.models import RELATIONS
from drover.web.errors import invalid
from drover.web.permissions import check_own


class NewDevice(msgspec.Struct, forbid_unknown_fields=True):
    """A row of `devices` as a client writes it."""

    serial_number: str
    group_id: str
    pc_id: str
    id: UUID | UnsetType = UNSET
    capabilities: list[str] = []


def _register(edge: Edge, row: NewDevice) -> RegisterDevice:
    device_id = str(uuid7() if row.id is UNSET else row.id)
    return RegisterDevice(device_id, row.serial_number, row.group_id, row.pc_id, row.capabilities)


def _registered(edge: Edge, command: RegisterDevice, done: Accepted) -> Row:
    """Make the row from the recorded values. Other columns come from live state."""
    told = recorded(RELATIONS["devices"], done)
    return _row(edge, told["id"], None) | told


def _merge(command: RegisterDevice, refused: Rejected) -> ChangeDevice | None:
    """Make the change of the existing device. None if the serial number differs, because it cannot change."""
    assert refused.details is not None
    if refused.details["field"] != "serial_number":
        return None
    return ChangeDevice(refused.details["id"], command.group_id, command.pc_id, command.capabilities)


def _row(edge: Edge, device_id: str, done: Accepted | None) -> Row:
    device = edge.roster.fleet.devices.get(device_id)
    heard: Row = done.result if done is not None and isinstance(done.result, dict) else {}
    return {"id": device_id} if device is None else device_row(device, heard.get("last_seen_at"))


def _by_serial(edge: Edge, serial_number: str) -> str | None:
    device = edge.roster.device(serial_number)
    return None if device is None else device.device_id


async def _apply(change: DeviceChange, targets: Sequence[Target], sending: Sending) -> Sequence[Result]:
    """Apply a change by the back office, or a heartbeat."""
    by_office = sending.grant.columns is None
    for target in targets:
        check_own(sending.grant, sending.principal, target.id)
    if not change.changes and not (by_office and change.resets):
        return await _beat(change, targets, sending)
    if change.claims_life:
        raise invalid("A PATCH must be a heartbeat or a change of the device, not both", field="status")
    await sending.edge.fleet.known_here()
    results: dict[str, Result] = {target.id: _known(sending.edge, target.id) for target in targets}
    there = [device_id for device_id, missing in results.items() if missing is None]
    if change.changes:
        commands = [change.command(device_id) for device_id in there]
        sending.check(commands)
        _collect(results, there, await sending.send(commands, [f"ChangeDevice {device_id}" for device_id in there]))
    if change.resets:
        devices = sending.edge.roster.fleet.devices
        failing = [device_id for device_id in there if devices[device_id].error is not None]
        resets = [ResetDevice(device_id) for device_id in failing]
        _collect(results, failing, await sending.send(resets, [f"ResetDevice {device_id}" for device_id in failing]))
    return list(results.values())


def _collect(results: dict[str, Result], ids: Sequence[str], outcomes: Sequence[Outcome]) -> None:
    """Store the outcomes. If one of two commands for a device is refused, the refusal is its result."""
    for device_id, outcome in zip(ids, outcomes, strict=True):
        if not isinstance(results[device_id], Rejected):
            results[device_id] = outcome


async def _beat(change: DeviceChange, targets: Sequence[Target], sending: Sending) -> Sequence[Result]:
    if any(target.by for target in targets):
        message = "A heartbeat names its phones by id or serial_number alone: a filter cannot know who is alive"
        raise invalid(message, field="filter")
    edge, now, claims = sending.edge, datetime.now(UTC), change.claims()
    heard = Accepted(0, {"last_seen_at": now})
    results: dict[str, Result] = {target.id: _known(edge, target.id) or heard for target in targets}
    there = [device_id for device_id, result in results.items() if result is heard]
    for device_id in there:  # before the limits, because a throttled device must not stop the heartbeats of the others
        edge.telemetry.beat(device_id, now, claims)
    for device_id in there:
        edge.limits.check_heartbeat(device_id)
    if change.status is DeviceStatus.ERROR:
        well = [device_id for device_id in there if edge.roster.fleet.devices[device_id].error is None]
        outcomes = await sending.send([ReportDeviceError(device_id) for device_id in well], well)
        results.update(zip(well, outcomes, strict=True))
    return list(results.values())


def _known(edge: Edge, device_id: str) -> Result:
    """Return an error if the device does not exist, None if it does."""
    return None if device_id in edge.roster.fleet.devices else absent(edge.roster)


DEVICES: Final = WriteTable(
    relation="devices",
    client=lambda edge, command: edge.fleet,
    insert=Insert(
        shape=NewDevice,
        command=_register,
        show=_registered,
        unique="serial_number",
        merge=Merge(_merge, ("serial_number", "id"), optional=("capabilities",), keeps=("id",)),
    ),
    update=Update(shape=DeviceChange, apply=_apply, show=live(_row), by_handler=True),
    other_keys={"serial_number": _by_serial},
    absent=lambda edge: absent(edge.roster),
)
