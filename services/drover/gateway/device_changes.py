"""Changes of `devices` by the back office: the place and capabilities of a phone, and the end of its error.

`PATCH /rest/v1/devices` with the service key. `group_id`, `pc_id` and `capabilities` change the device. `{"error":
null}` or `{"status": "offline"}` resets a device in error, which is then offline until it is heard; both do nothing on
other devices. Any other body is a heartbeat, as agents send it.
"""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.fleet.commands import ChangeDevice, ResetDevice
from drover.domain.fleet.state import Device
from drover.gateway.device_bodies import DeviceChange
from drover.gateway.device_lookup import find_devices
from drover.gateway.representation import answer_update, parse_view
from drover.gateway.roster import Roster
from drover.gateway.rows import device_row
from drover.readmodel.models import RELATIONS
from drover.web.auth import Principal
from drover.web.bodies import Body
from drover.web.commands import CommandClient, request_origin
from drover.web.errors import invalid
from drover.web.permissions import Grant


class DeviceChanges:
    """Handles the writes of the back office that are not heartbeats."""

    def __init__(self, roster: Roster, client: CommandClient) -> None:
        self._roster = roster
        self._client = client
        self._body = Body(DeviceChange)

    async def patch(self, request: web.Request, principal: Principal, raw: bytes, grant: Grant) -> web.Response | None:
        """The answer; None: it is a heartbeat. The caller has checked the permission."""
        change = self._body.decode(raw)
        if not (change.changes or change.resets):
            return None
        if change.claims_life:
            raise invalid("A PATCH must be a heartbeat or a change of the device, not both", field="status")
        headers, query = request.headers, request.rel_url.raw_query_string
        await self._client.known_here()
        devices = find_devices(self._roster, query, principal, grant)
        preferences, select = parse_view(RELATIONS["devices"], headers, query, len(devices))
        commands = _commands(change, devices)
        self._client.check(*commands)
        outcomes = await self._client.outcomes(
            commands,
            request_origin(request, principal, route="PATCH devices", raw=raw),
            targets=[f"{type(command).__name__} {command.device_id}" for command in commands],
        )
        position = max((outcome.position for outcome in outcomes), default=0)
        await self._client.wait_local(position)
        self._refuse(commands, outcomes)
        rows = None
        if preferences.representation:
            known = self._roster.fleet.devices
            rows = [device_row(known[device.device_id], None) for device in devices]
        return answer_update(rows, preferences, headers, select=select, extra=self._client.position_headers(position))

    def _refuse(self, commands: Sequence[ChangeDevice | ResetDevice], outcomes: Sequence[Outcome]) -> None:
        """Raise the first refusal, with the devices that were changed nevertheless: each is changed by itself."""
        for command, outcome in zip(commands, outcomes, strict=True):
            if isinstance(outcome, Rejected):
                error = self._client.refusal(outcome)
                pairs = zip(commands, outcomes, strict=True)
                done = [one.device_id for one, other in pairs if isinstance(other, Accepted)]
                details = error.details if isinstance(error.details, dict) else {}
                error.details = {**details, "device_id": command.device_id, "accepted": done}
                raise error


def _commands(change: DeviceChange, devices: Sequence[Device]) -> list[ChangeDevice | ResetDevice]:
    commands: list[ChangeDevice | ResetDevice] = []
    for device in devices:
        if change.changes:
            commands.append(change.command(device.device_id))
        if change.resets and device.error is not None:
            commands.append(ResetDevice(device.device_id))
    return commands
