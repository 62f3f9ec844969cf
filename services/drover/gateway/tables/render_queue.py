"""Writes of `render_queue`: request, cancel, release and repeat renders (003 §4.2).

Workers report everything else about a render, by another way.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, Final, Literal

import msgspec

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.errors import Code
from drover.domain.render.commands import CancelRender, ReleaseRender, RequestRender, RerunRender
from drover.gateway.gfx_data import Sealed
from drover.gateway.rows import Row
from drover.gateway.writes.declaration import Insert, Result, Target, Update, WriteTable
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.sending import Sending
from drover.gateway.writes.shown import stored
from drover.readmodel.models import RELATIONS
from drover.web.auth import Principal
from drover.web.permissions import Verb
from drover.web.postgrest.sealed import Unseal

GFX_DATA: Final = "render_queue.gfx_data"
"""The name of gfx_data in the table of permissions."""
_ONLY_STATUS: Final = (
    "Only the status of a render can be written: cancelled, or pending, which takes it from its worker or, if it "
    "failed or was cancelled, runs it again. Workers report everything else."
)
_ENDED: Final = (None, "failed", "cancelled", "completed")
"""The status of a render that may run again; None if the request names it by its number."""
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


class RenderChange(msgspec.Struct, forbid_unknown_fields=True):
    """What a PATCH may change."""

    status: Literal["cancelled", "pending"]


def unseal(edge: Edge, principal: Principal) -> Unseal:
    """The function that opens gfx_data for this caller, or refuses it."""
    return edge.gfx_data.opener(may=edge.permissions.may(principal, GFX_DATA, Verb.READ))


def _request(edge: Edge, row: NewRender) -> RequestRender:
    sealed = edge.gfx_data.seal(row.gfx_data)
    return RequestRender(
        composition_id=str(row.composition_id),
        gfx_id=sealed.gfx_id,
        gfx_data=sealed.text,
        composition=row.name,
        cue_item_id=None if row.cue_item_id is None else str(row.cue_item_id),
        broadcast_date=row.broadcast_date,
    )


def _requested(edge: Edge, command: RequestRender, done: Accepted) -> Row:
    told = dict(done.result)
    gfx_data = msgspec.json.decode(edge.gfx_data.open(Sealed(command.gfx_id, command.gfx_data)))
    return _NEW | {"composition_name": told.pop("composition"), "gfx_data": gfx_data} | told


async def _apply(change: RenderChange, targets: Sequence[Target], sending: Sending) -> Sequence[Result]:
    ids = [target.id for target in targets]
    if change.status == "cancelled":
        return await sending.send([CancelRender(int(id_)) for id_ in ids], ids)
    # Take it from its worker; if it has ended, run it again. The writer knows which applies, and a repeat with the same
    # id does not take the repeated render from its new worker.
    outcomes = await sending.send([ReleaseRender(int(id_)) for id_ in ids], ids)
    ended = [
        index
        for index, (target, outcome) in enumerate(zip(targets, outcomes, strict=True))
        if _is_conflict(outcome) and target.fence("status") in _ENDED
    ]
    again = await sending.send([RerunRender(int(ids[index])) for index in ended], [ids[index] for index in ended])
    for index, outcome in zip(ended, again, strict=True):
        outcomes[index] = outcome
    return outcomes


def _is_conflict(outcome: Outcome) -> bool:
    return isinstance(outcome, Rejected) and outcome.code == Code.CONFLICT


RENDER_QUEUE: Final = WriteTable(
    relation="render_queue",
    client=lambda edge, command: edge.render,
    insert=Insert(
        shape=NewRender,
        command=_request,
        show=_requested,
        names={"composition": "composition_name"},
    ),
    update=Update(
        shape=RenderChange,
        apply=_apply,
        show=stored("render_queue", unseal=lambda sending: unseal(sending.edge, sending.principal)),
        hint=_ONLY_STATUS,
    ),
    fence=("status",),
)
