"""`POST` and `PATCH /rest/v1/pcs`: register PCs, and change their capacity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable

import msgspec
from aiohttp import web

from drover.bus.messages import Accepted
from drover.domain.errors import Code
from drover.domain.fleet.commands import RegisterPc
from drover.domain.fleet.policy import PC_CAPACITY_DEFAULT
from drover.domain.fleet.state import DeviceStatus, Fleet
from drover.gateway.creation import Creation
from drover.gateway.patching import parse_patch, settle
from drover.gateway.representation import answer_update
from drover.gateway.rest_routes import changes, creates
from drover.gateway.roster import Roster
from drover.gateway.rows import Row
from drover.readmodel.models import RELATIONS
from drover.web.auth import Principal
from drover.web.bodies import Body, read_body
from drover.web.commands import CommandClient, request_origin
from drover.web.errors import ApiError, unavailable
from drover.web.route import handles


class NewPc(msgspec.Struct, forbid_unknown_fields=True):
    """A row of `pcs` as a client writes it. An existing PC gets this capacity."""

    id: str
    capacity: int = PC_CAPACITY_DEFAULT

    def command(self) -> RegisterPc:
        return RegisterPc(self.id, self.capacity)


class PcChange(msgspec.Struct, forbid_unknown_fields=True):
    """What a PATCH may change."""

    capacity: int


class Pcs:
    def __init__(self, client: CommandClient, roster: Roster) -> None:
        self._client = client
        self._roster = roster
        self._change = Body(PcChange)
        self._creation = Creation(
            "pcs",
            NewPc,
            NewPc.command,
            self._shown,
            client=client,
            unique="id",
            names={"pc_id": "id"},
        )

    @handles(creates("pcs", NewPc))
    def post(self, request: web.Request, principal: Principal) -> Awaitable[web.Response]:
        return self._creation.post(request, principal)

    @handles(changes("pcs", PcChange))
    async def patch(self, request: web.Request, principal: Principal) -> web.Response:
        headers = request.headers
        patch = parse_patch(request.rel_url.raw_query_string, headers, RELATIONS["pcs"])
        raw = await read_body(request)
        change = self._change.decode(raw)
        await self._client.known_here()
        ids = self._known(patch.ids)
        commands = [RegisterPc(pc_id, change.capacity) for pc_id in ids]
        self._client.check(*commands)
        origin = request_origin(request, principal, route="PATCH pcs", raw=raw)
        done = settle(self._client, ids, await self._client.outcomes(commands, origin, targets=ids))
        await self._client.wait_local(done.position)
        rows = [pc_row(self._roster.fleet, pc_id) for pc_id in done.rows] if patch.preferences.representation else None
        extra = self._client.position_headers(done.position)
        return answer_update(rows, patch.preferences, headers, select=patch.select, extra=extra)

    def _known(self, ids: tuple[str, ...]) -> list[str]:
        """The PCs that exist: the command would create the others, which a PATCH must not do."""
        known = [pc_id for pc_id in ids if pc_id in self._roster.fleet.pcs]
        if known:
            return known
        if not self._roster.complete:
            raise unavailable("The gateway has just started and is still loading the fleet")
        raise ApiError(404, Code.NOT_FOUND, "PC not found")

    def _shown(self, command: RegisterPc, done: Accepted) -> Row:
        # The roster may be late; show at least what the command says.
        known = pc_row(self._roster.fleet, command.pc_id) if command.pc_id in self._roster.fleet.pcs else {}
        return known | {"id": command.pc_id, "capacity": command.capacity}


def pc_row(fleet: Fleet, pc_id: str) -> Row:
    """The columns of `pcs`, from live state."""
    pc = fleet.pcs[pc_id]
    count = Counter(fleet.devices[device_id].status for device_id in pc.devices)
    return {
        "id": pc.pc_id,
        "capacity": pc.capacity,
        "created_at": pc.created_at,
        "updated_at": pc.updated_at,
        "held_until": pc.held_until,
        "device_count": len(pc.devices),
        **{status.value: count[status] for status in DeviceStatus},
    }
