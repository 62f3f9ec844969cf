"""`/rest/v1/aep_compositions`: the template of a composition, and how it is encoded."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Final

import msgspec
from aiohttp import web

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.errors import Code
from drover.domain.render.commands import DescribeComposition, GetComposition, RemoveComposition
from drover.gateway.alteration import Alteration, Sending
from drover.gateway.creation import Creation
from drover.gateway.deletion import Deletion
from drover.gateway.rest_routes import changes, creates, deletes
from drover.gateway.rows import Row
from drover.gateway.stored_rows import StoredRows
from drover.readmodel.models import RELATIONS
from drover.web.auth import Principal
from drover.web.commands import CommandClient
from drover.web.errors import invalid
from drover.web.route import handles

_HINT: Final = "name, template and output_module can be changed."


class NewComposition(msgspec.Struct, forbid_unknown_fields=True):
    """A row of `aep_compositions` as a client writes it. An existing one is updated."""

    id: str | int
    name: str | None = None
    template: str | None = None
    output_module: str | None = None

    def command(self) -> DescribeComposition:
        return DescribeComposition(str(self.id), self.name, self.template, self.output_module)


class CompositionChange(msgspec.Struct, forbid_unknown_fields=True):
    """What a PATCH may change; None: no change."""

    name: str | None = None
    template: str | None = None
    output_module: str | None = None

    def command(self, composition_id: str) -> DescribeComposition:
        return DescribeComposition(composition_id, self.name, self.template, self.output_module)


class Compositions:
    def __init__(self, client: CommandClient, stored: StoredRows) -> None:
        self._creation = Creation(
            "aep_compositions",
            NewComposition,
            NewComposition.command,
            _described,
            client=client,
            unique="id",
            names={"composition_id": "id"},
        )
        self._alteration = Alteration(
            "aep_compositions",
            CompositionChange,
            _apply,
            client=client,
            stored=stored,
            hint=_HINT,
        )
        self._deletion = Deletion("aep_compositions", RemoveComposition, client=client, stored=stored)

    @handles(creates("aep_compositions", NewComposition))
    def post(self, request: web.Request, principal: Principal) -> Awaitable[web.Response]:
        return self._creation.post(request, principal)

    @handles(changes("aep_compositions", CompositionChange))
    def patch(self, request: web.Request, principal: Principal) -> Awaitable[web.Response]:
        return self._alteration.patch(request, principal)

    @handles(deletes("aep_compositions"))
    def delete(self, request: web.Request, principal: Principal) -> Awaitable[web.Response]:
        return self._deletion.delete(request, principal)


def _described(command: DescribeComposition, done: Accepted) -> Row:
    """What the command recorded; if nothing changed, what it said."""
    blank: Row = dict.fromkeys(RELATIONS["aep_compositions"].columns)
    said: Row = {"name": command.name, "template": command.template, "output_module": command.output_module}
    return blank | {"id": command.composition_id} | said | (done.result or {})


async def _apply(change: CompositionChange, ids: Sequence[str], sending: Sending) -> list[Outcome]:
    if change == CompositionChange():
        raise invalid("name, template or output_module is required", field="name")
    commands = {id_: change.command(id_) for id_ in ids}
    sending.client.check(*commands.values())
    # The same command would create missing compositions, which a PATCH must not do.
    found = await sending.ask([GetComposition(id_) for id_ in ids])
    outcomes = {id_: _known(id_, one) for id_, one in zip(ids, found, strict=True)}
    known = [id_ for id_, outcome in outcomes.items() if isinstance(outcome, Accepted)]
    described = await sending.send([commands[id_] for id_ in known], known)
    return list((outcomes | dict(zip(known, described, strict=True))).values())


def _known(composition_id: str, found: Outcome) -> Outcome:
    """Reject a composition without a version: it does not exist."""
    if isinstance(found, Accepted) and not found.result["version"]:
        return Rejected(Code.NOT_FOUND, f"There is no composition {composition_id}", {"id": composition_id})
    return found
