"""`POST` and `PATCH /rest/v1/render_queue`: request, cancel, release and repeat renders (003 §4.2).

Workers report everything else about a render, by another way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from datetime import date
from typing import Any, Final, Literal

import msgspec
from aiohttp import web

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.errors import Code
from drover.domain.render.commands import CancelRender, ReleaseRender, RequestRender, RerunRender
from drover.gateway.alteration import Alteration, Sending
from drover.gateway.creation import Creation
from drover.gateway.gfx_data import GfxData, Sealed
from drover.gateway.rest_routes import changes, creates
from drover.gateway.rows import Row
from drover.gateway.stored_rows import StoredRows
from drover.readmodel.models import RELATIONS
from drover.web.auth import Principal
from drover.web.commands import CommandClient
from drover.web.permissions import Permissions, Verb
from drover.web.postgrest.sealed import Unseal
from drover.web.route import handles

GFX_DATA: Final = "render_queue.gfx_data"
"""The name of gfx_data in the table of permissions."""
_ONLY_STATUS: Final = (
    "Only the status of a render can be written: cancelled, or pending, which takes it from its worker or, if it "
    "failed or was cancelled, runs it again. Workers report everything else."
)
_NEW: Final[Row] = dict.fromkeys(RELATIONS["render_queue"].columns) | {"run": 0, "unmapped_fields": []}


class NewRender(msgspec.Struct, forbid_unknown_fields=True):
    """A row of `render_queue` as a client writes it."""

    composition_id: str | int
    gfx_data: dict[str, Any]
    cue_item_id: str | int | None = None
    broadcast_date: date | None = None
    composition_name: str | None = None
    """Default: the name in gfx_data, else the name of the composition, else its id."""
    status: Literal["pending"] = "pending"

    @property
    def name(self) -> str:
        named = self.gfx_data.get("composition_name") if self.composition_name is None else self.composition_name
        return named if isinstance(named, str) else ""

    def command(self, sealed: Sealed) -> RequestRender:
        return RequestRender(
            composition_id=str(self.composition_id),
            gfx_id=sealed.gfx_id,
            gfx_data=sealed.text,
            composition=self.name,
            cue_item_id=None if self.cue_item_id is None else str(self.cue_item_id),
            broadcast_date=self.broadcast_date,
        )


class RenderChange(msgspec.Struct, forbid_unknown_fields=True):
    """What a PATCH may change."""

    status: Literal["cancelled", "pending"]


class RenderQueue:
    def __init__(
        self,
        permissions: Permissions,
        client: CommandClient,
        gfx_data: GfxData,
        stored: StoredRows,
    ) -> None:
        self._permissions = permissions
        self._gfx_data = gfx_data
        self._creation = Creation(
            "render_queue",
            NewRender,
            self._request,
            self._requested,
            client=client,
            names={"composition": "composition_name"},
        )
        self._alteration = Alteration(
            "render_queue",
            RenderChange,
            _apply,
            client=client,
            stored=stored,
            hint=_ONLY_STATUS,
            unseal=self.unseal,
        )

    @handles(creates("render_queue", NewRender))
    def post(self, request: web.Request, principal: Principal) -> Awaitable[web.Response]:
        return self._creation.post(request, principal)

    @handles(changes("render_queue", RenderChange))
    def patch(self, request: web.Request, principal: Principal) -> Awaitable[web.Response]:
        return self._alteration.patch(request, principal)

    def unseal(self, principal: Principal) -> Unseal:
        """The function that opens gfx_data for this caller, or refuses it."""
        return self._gfx_data.opener(may=self._permissions.may(principal, GFX_DATA, Verb.READ))

    def _request(self, row: NewRender) -> RequestRender:
        return row.command(self._gfx_data.seal(row.gfx_data))

    def _requested(self, command: RequestRender, done: Accepted) -> Row:
        told = dict(done.result)
        gfx_data = msgspec.json.decode(self._gfx_data.open(Sealed(command.gfx_id, command.gfx_data)))
        return _NEW | {"composition_name": told.pop("composition"), "gfx_data": gfx_data} | told


async def _apply(change: RenderChange, ids: Sequence[str], sending: Sending) -> list[Outcome]:
    if change.status == "cancelled":
        return await sending.send([CancelRender(int(id_)) for id_ in ids], ids)
    # Take it from its worker; if it has ended, run it again. The writer knows which applies, and a repeat with the same
    # id does not take the repeated render from its new worker.
    outcomes = await sending.send([ReleaseRender(int(id_)) for id_ in ids], ids)
    ended = [index for index, outcome in enumerate(outcomes) if _is_conflict(outcome)]
    again = await sending.send([RerunRender(int(ids[index])) for index in ended], [ids[index] for index in ended])
    for index, outcome in zip(ended, again, strict=True):
        outcomes[index] = outcome
    return outcomes


def _is_conflict(outcome: Outcome) -> bool:
    return isinstance(outcome, Rejected) and outcome.code == Code.CONFLICT
