"""`/rest/v1/aep_compositions`: the template of a composition, and how it is encoded."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from aiohttp import web
from msgspec.structs import asdict

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.errors import Code
from drover.domain.render.commands import DescribeComposition, GetComposition, RemoveComposition
from drover.domain.render.mapping_spec import CompositionChange
from drover.domain.spec import fields_of
from drover.gateway.alteration import Alteration, Sending, can_change, refuse_empty
from drover.gateway.creation import Creation
from drover.gateway.deletion import Deletion
from drover.gateway.rest_routes import changes, creates, deletes
from drover.gateway.rows import Row
from drover.gateway.stored_rows import StoredRows
from drover.readmodel.models import RELATIONS
from drover.web.auth import Principal
from drover.web.commands import CommandClient
from drover.web.route import handles


class NewComposition(CompositionChange):
    """A row of `aep_compositions` as a client writes it. An existing one is updated."""

    id: str | int

    def command(self) -> DescribeComposition:
        return DescribeComposition(str(self.id), **fields_of(CompositionChange, self))


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
            hint=can_change(CompositionChange),
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
    said = fields_of(CompositionChange, command)
    return blank | {"id": command.composition_id} | said | (done.result or {})


async def _apply(change: CompositionChange, ids: Sequence[str], sending: Sending) -> list[Outcome]:
    refuse_empty(change)
    commands = {id_: DescribeComposition(id_, **asdict(change)) for id_ in ids}
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
