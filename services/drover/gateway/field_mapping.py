"""`/rest/v1/aep_field_mapping`: which field of gfx_data goes to which layer. Workers notice changes themselves."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Final

from aiohttp import web
from msgspec.structs import asdict

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.render.commands import ChangeField, MapField, UnmapField
from drover.domain.render.mapping_spec import FieldChange, Layer
from drover.domain.spec import fields_of
from drover.gateway.alteration import Alteration, Sending, can_change, refuse_empty
from drover.gateway.creation import Creation, Merge
from drover.gateway.deletion import Deletion
from drover.gateway.rest_routes import changes, creates, deletes
from drover.gateway.rows import Row
from drover.gateway.stored_rows import StoredRows
from drover.readmodel.models import RELATIONS
from drover.web.auth import Principal
from drover.web.commands import CommandClient
from drover.web.route import handles

_HINT: Final = f"{can_change(FieldChange)} For another field, delete this row and create one."


class NewField(Layer, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of `aep_field_mapping` as a client writes it."""

    composition_id: str | int
    field_name: str

    def command(self) -> MapField:
        return MapField(**asdict(self) | {"composition_id": str(self.composition_id)})


class FieldMapping:
    def __init__(self, client: CommandClient, stored: StoredRows) -> None:
        self._creation = Creation(
            "aep_field_mapping",
            NewField,
            NewField.command,
            _mapped,
            client=client,
            merge=Merge(_as_sent, ("composition_id,field_name", "field_name,composition_id")),
        )
        self._alteration = Alteration(
            "aep_field_mapping",
            FieldChange,
            _apply,
            client=client,
            stored=stored,
            hint=_HINT,
        )
        self._deletion = Deletion(
            "aep_field_mapping",
            lambda id_: UnmapField(int(id_)),
            client=client,
            stored=stored,
        )

    @handles(creates("aep_field_mapping", NewField))
    def post(self, request: web.Request, principal: Principal) -> Awaitable[web.Response]:
        return self._creation.post(request, principal)

    @handles(changes("aep_field_mapping", FieldChange))
    def patch(self, request: web.Request, principal: Principal) -> Awaitable[web.Response]:
        return self._alteration.patch(request, principal)

    @handles(deletes("aep_field_mapping"))
    def delete(self, request: web.Request, principal: Principal) -> Awaitable[web.Response]:
        return self._deletion.delete(request, principal)


def _mapped(command: MapField, done: Accepted) -> Row:
    blank: Row = dict.fromkeys(RELATIONS["aep_field_mapping"].columns)
    return blank | asdict(command) | (done.result or {})


def _as_sent(command: MapField, refused: Rejected) -> ChangeField:
    assert refused.details is not None
    return ChangeField(refused.details["id"], **fields_of(Layer, command))


async def _apply(change: FieldChange, ids: Sequence[str], sending: Sending) -> list[Outcome]:
    refuse_empty(change)
    commands = [ChangeField(int(id_), **asdict(change)) for id_ in ids]
    sending.client.check(*commands)
    return await sending.send(commands, ids)
