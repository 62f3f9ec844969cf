"""`POST /rest/v1/devices`: registers phones. The writer of the fleet decides whether a phone is accepted."""

from __future__ import annotations

from collections.abc import Awaitable
from uuid import UUID

import msgspec
from aiohttp import web
from msgspec import UNSET, UnsetType
from uuid_utils import uuid7

from drover.bus.messages import Accepted
from drover.domain.fleet.commands import RegisterDevice
from drover.gateway.creation import Creation
from drover.gateway.rest_routes import creates
from drover.gateway.roster import Roster
from drover.gateway.rows import Row, device_row
from drover.web.auth import Principal
from drover.web.commands import CommandClient
from drover.web.route import handles


class NewDevice(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request to register a device: the columns of `devices` that a client may set."""

    serial_number: str
    group_id: str
    pc_id: str
    id: UUID | UnsetType = UNSET
    capabilities: list[str] = []

    def command(self) -> RegisterDevice:
        device_id = str(uuid7() if self.id is UNSET else self.id)
        return RegisterDevice(device_id, self.serial_number, self.group_id, self.pc_id, self.capabilities)


class Registration:
    """The route that registers phones."""

    def __init__(self, client: CommandClient, roster: Roster) -> None:
        self._roster = roster
        self._creation = Creation(
            "devices",
            NewDevice,
            NewDevice.command,
            self._row,
            client=client,
            unique="serial_number",
        )

    @handles(creates("devices", NewDevice))
    def post(self, request: web.Request, principal: Principal) -> Awaitable[web.Response]:
        return self._creation.post(request, principal)

    def _row(self, command: RegisterDevice, done: Accepted) -> Row:
        """Make the row for the answer: what the command has recorded, and the other columns from the current state."""
        told: Row = done.result
        device = self._roster.fleet.devices.get(told["id"])
        known = {} if device is None else device_row(device, None)
        return known | told
