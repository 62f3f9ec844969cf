"""`PATCH` of rows of a context without a roster: send commands, then lay their results over the stored rows.

Each relation decides which commands.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from aiohttp import web

from drover.bus.messages import Accepted, Outcome
from drover.domain.decider import Command
from drover.gateway.patching import id_of, parse_patch, settle
from drover.gateway.rows import Row
from drover.gateway.stored_rows import StoredRows
from drover.readmodel.models import RELATIONS
from drover.web.auth import Principal
from drover.web.bodies import Body, read_body
from drover.web.commands import CommandClient, Origin, request_origin
from drover.web.errors import ApiError, invalid
from drover.web.postgrest.read import keep_sealed
from drover.web.postgrest.sealed import Unseal

T = TypeVar("T", bound=msgspec.Struct)


def can_change(shape: type[msgspec.Struct]) -> str:
    """The hint for a client that wrote something else."""
    return f"{_listed(shape, 'and')} can be changed."


def refuse_empty(change: msgspec.Struct) -> None:
    """Raises 400 if the body changes nothing."""
    if change == type(change)():
        raise invalid(f"{_listed(type(change), 'or')} is required", field=change.__struct_fields__[0])


def _listed(shape: type[msgspec.Struct], word: str) -> str:
    *others, last = shape.__struct_fields__
    return f"{', '.join(others)} {word} {last}"


class Sending(msgspec.Struct, frozen=True):
    """Sends the commands of one PATCH in the name of its caller."""

    client: CommandClient
    origin: Origin

    async def send(self, commands: Sequence[Command], ids: Sequence[str]) -> list[Outcome]:
        """One command for each row. Two commands for one row have the same id: the PATCH is one request, and a repeat
        with the same key gets the outcome of whichever command was recorded."""
        return await self.client.outcomes(commands, self.origin, targets=ids)

    async def ask(self, questions: Sequence[Command]) -> list[Outcome]:
        """Send queries. A query writes nothing, so it needs no key."""
        return await self.client.outcomes(questions, Origin(by=self.origin.by))


class Alteration(Generic[T]):
    """The handler of one relation."""

    def __init__(
        self,
        relation: str,
        shape: type[T],
        apply: Callable[[T, Sequence[str], Sending], Awaitable[Sequence[Outcome]]],
        *,
        client: CommandClient,
        stored: StoredRows,
        hint: str,
        unseal: Callable[[Principal], Unseal] = lambda principal: keep_sealed,
    ) -> None:
        self._relation = RELATIONS[relation]
        self._body = Body(shape)
        self._apply = apply
        self._client = client
        self._stored = stored
        self._hint = hint
        """Tells a client that wrote anything else what can be written."""
        self._unseal = unseal

    async def patch(self, request: web.Request, principal: Principal) -> web.Response:
        patch = parse_patch(request, self._relation)
        raw = await read_body(request)
        change = self._decode(raw)
        origin = request_origin(request, principal, route=f"PATCH {self._relation.name}", raw=raw)
        done = settle(self._client, patch.ids, await self._apply(change, patch.ids, Sending(self._client, origin)))
        rows = await self._rows(done.rows, done.position, principal) if patch.preferences.representation else None
        return patch.answer(rows, self._client.position_headers(done.position))

    def _decode(self, raw: bytes) -> T:
        try:
            return self._body.decode(raw)
        except ApiError as error:
            error.hint = self._hint
            raise

    async def _rows(self, done: dict[str, Accepted | None], position: int, principal: Principal) -> list[Row]:
        unseal = self._unseal(principal)
        stored = await self._stored.get(self._relation, list(done), position=position, unseal=unseal)
        blank: Row = dict.fromkeys(self._relation.columns)
        return [
            blank | stored.get(id_, {"id": id_of(self._relation, id_)}) | self._told(result)
            for id_, result in done.items()
        ]

    def _told(self, done: Accepted | None) -> Row:
        """What the command recorded; the read model may not have it yet."""
        told: Any = None if done is None else done.result
        if not isinstance(told, dict):
            return {}
        return {name: value for name, value in told.items() if name in self._relation.columns}
