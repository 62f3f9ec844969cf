"""`POST` of rows: each becomes one command, all sent at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Final, TypeGuard, TypeVar

import msgspec
from aiohttp import web
from msgspec.structs import replace

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.decider import Command
from drover.domain.errors import Code
from drover.gateway.rows import Row
from drover.gateway.writes.body import Given, RowBody
from drover.gateway.writes.declaration import Insert, Merge, WriteTable
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.representation import answer_creation, parse_view
from drover.gateway.writes.sending import Sending
from drover.web.auth import Principal
from drover.web.bodies import read_body
from drover.web.commands import request_origin
from drover.web.errors import ApiError, invalid
from drover.web.permissions import Verb, check_columns
from drover.web.postgrest.grammar import split_parameters
from drover.web.postgrest.respond import check_profile
from drover.web.postgrest.sealed import open_rows

T = TypeVar("T")

_PARAMETERS: Final = frozenset({"select", "columns"})
_ON_CONFLICT: Final = "on_conflict"
_KNOWN: Final = Rejected(Code.UNIQUE_VIOLATION, "There is a row with this key already")


class Inserts:
    """The POST of one relation."""

    def __init__(self, table: WriteTable, insert: Insert[Any, Any], edge: Edge) -> None:
        self._table = table
        self._insert = insert
        self._edge = edge
        self._body: RowBody[msgspec.Struct] = RowBody(insert.shape, table.columns)

    async def post(self, request: web.Request, principal: Principal) -> web.Response:
        edge, insert, relation = self._edge, self._insert, self._table.columns
        headers, query = request.headers, request.rel_url.raw_query_string
        check_profile(headers, "Content-Profile")
        _refuse_filters(query, insert.merge)
        grant = edge.permissions.demand(principal, relation.name, Verb.CREATE)
        raw = await read_body(request)
        given = self._body.decode_many(raw)
        check_columns(grant, given.names)
        preferences, select = parse_view(relation, headers, query, len(given.rows))
        commands = await self._commands(given.rows, given.many)
        sending = Sending(
            edge,
            self._table.client,
            principal=principal,
            grant=grant,
            origin=request_origin(request, principal, route=f"POST {relation.name}", raw=raw),
            names=given.names,
            ignored=given.ignored,
        )
        self._check(given.rows, commands, sending, given.many)
        outcomes: Sequence[Outcome | None]
        merged: Collection[int] = ()
        if insert.merge is None or preferences.resolution is None:
            outcomes = await self._send(given.rows, commands, sending)
        else:
            if preferences.resolution == "merge-duplicates":
                outcomes, merged = await self._merge(insert.merge, given, commands, sending)
            else:
                outcomes = await self._create_new(insert.merge, given.rows, commands, sending)
            preferences = preferences.resolving()
        # Wait, so that the next request finds the row here, for example that of a phone which has just registered.
        await sending.settle_locally()
        self._refuse(outcomes, sending, given.many)
        made = [
            (insert.show(edge, command, done), done, place in merged)
            for place, (command, done) in enumerate(zip(commands, outcomes, strict=True))
            if isinstance(done, Accepted)
        ]
        rows: list[Row] = []
        if preferences.representation:
            whole = await self._whole(made, sending)
            rows = await open_rows(relation, whole, edge.personal_data.unseal(principal))
        return answer_creation(rows, preferences, headers, select=select, extra=sending.headers)

    async def _whole(self, made: Sequence[tuple[Row, Accepted, bool]], sending: Sending) -> list[Row]:
        """Make the rows for the answer. A merged row also has columns that are not in the request."""
        show, key = self._insert.merge and self._insert.merge.show, self._table.key
        merged = {str(row[key]): done for row, done, existed in made if existed and show}
        whole = {str(row[key]): row for row in await show(self._edge, merged, sending)} if show and merged else {}
        return [whole.get(str(row.get(key)), row) for row, _, _ in made]

    async def _commands(self, rows: Sequence[msgspec.Struct], many: bool) -> list[Command]:
        insert, edge = self._insert, self._edge
        if insert.check is not None:
            self._each(insert.check, rows, many)
        sealed = rows if insert.seal is None else await insert.seal(edge, rows)
        return self._each(partial(insert.command, edge), sealed, many)

    def _each(self, action: Callable[[Any], T], rows: Sequence[msgspec.Struct], many: bool) -> list[T]:
        """Call the function for each row. Its error names the row."""
        results: list[T] = []
        for index, row in enumerate(rows):
            try:
                results.append(action(row))
            except ApiError as error:
                raise self._placed(error, index if many else None) from error
        return results

    async def _send(
        self, rows: Sequence[msgspec.Struct], commands: Sequence[Command], sending: Sending
    ) -> list[Outcome]:
        forgotten = self._insert.forgotten
        known = await forgotten(self._edge, rows) if forgotten is not None else ()
        places = [place for place in range(len(commands)) if place not in known]
        done = await sending.send([commands[place] for place in places], list(map(str, places)))
        outcomes: list[Outcome] = [_KNOWN] * len(commands)
        for place, outcome in zip(places, done, strict=True):
            outcomes[place] = outcome
        return outcomes

    async def _merge(
        self, merge: Merge[Any], given: Given[Any], commands: Sequence[Command], sending: Sending
    ) -> tuple[list[Outcome], Collection[int]]:
        """Create the rows that do not exist, and change the others to the values sent. Returns the outcomes, and the
        indexes of the rows that existed."""
        self._edge.permissions.demand(sending.principal, self._table.relation, Verb.UPDATE)
        outcomes = await self._send(given.rows, commands, sending)
        existing = {index: outcome for index, outcome in enumerate(outcomes) if _exists(outcome)}
        changes: dict[int, Command] = {}
        for index, refused in existing.items():
            change = merge.command(commands[index], refused)
            if change is not None:
                untold = {name: None for name in merge.optional if name not in given.names}
                changes[index] = replace(change, **untold)
                sending.pass_over(_kept(merge, given.rows[index], refused) & given.names.keys())
        # These commands have the same ids as the first ones, so a repeat of the request gets the outcome of the command
        # that was recorded.
        changed = await sending.send(list(changes.values()), list(map(str, changes)))
        for index, outcome in zip(changes, changed, strict=True):
            unchanged = isinstance(outcome, Accepted) and outcome.result is None
            outcomes[index] = Accepted(0, existing[index].details) if unchanged else outcome
        # A repeat with the same Idempotency-Key is accepted at once, so nobody knows which rows existed: return all of
        # them.
        return outcomes, existing.keys() if sending.origin.key is None else range(len(outcomes))

    async def _create_new(
        self, merge: Merge[Any], rows: Sequence[msgspec.Struct], commands: Sequence[Command], sending: Sending
    ) -> list[Outcome | None]:
        """Create the rows that do not exist. None for the others."""
        new = commands if merge.only_new is None else [merge.only_new(command) for command in commands]
        return [None if _exists(outcome) else outcome for outcome in await self._send(rows, new, sending)]

    def _check(self, rows: Sequence[msgspec.Struct], commands: Sequence[Command], sending: Sending, many: bool) -> None:
        """Validate every command before any of them is sent.

        Each command is atomic, but an array of commands is not. So refuse as much as possible before sending.
        """
        seen: dict[Any, int] = {}
        for index, (row, command) in enumerate(zip(rows, commands, strict=True)):
            try:
                sending.check([command])
            except ApiError as error:
                raise self._placed(error, index if many else None) from error
            if self._insert.unique is None:
                continue
            value = getattr(row, self._insert.unique)
            if seen.setdefault(value, index) != index:
                message = f"The same {self._insert.unique} appears twice in the body"
                raise invalid(message, field=f"[{index}].{self._insert.unique}", value=value)

    def _refuse(self, outcomes: Sequence[Outcome | None], sending: Sending, many: bool) -> None:
        """Raise the first refusal, with the indexes of the rows that were written."""
        accepted = [place for place, outcome in enumerate(outcomes) if isinstance(outcome, Accepted)]
        for index, outcome in enumerate(outcomes):
            if isinstance(outcome, Rejected):
                error = self._placed(sending.refusal(outcome), index if many else None)
                if accepted:
                    details = error.details if isinstance(error.details, dict) else {}
                    error.details = {**details, "accepted": accepted}
                    error.hint = "Rows whose index is in details.accepted were written."
                    error.headers.update(sending.headers)
                raise error

    def _placed(self, error: ApiError, index: int | None) -> ApiError:
        """Make the error of one row, with the names of its columns and, in an array, its index."""
        if not isinstance(error.details, dict):
            return error
        details = dict(error.details)
        if (field := details.get("field")) is not None:
            name = self._insert.names.get(field, field)
            details["field"] = name if index is None else f"[{index}].{name}"
        error.details = details if index is None else {**details, "index": index}
        return error


def _exists(outcome: Outcome | None) -> TypeGuard[Rejected]:
    return isinstance(outcome, Rejected) and outcome.code == Code.UNIQUE_VIOLATION


def _kept(merge: Merge[Any], row: msgspec.Struct, refused: Rejected) -> set[str]:
    """Return the columns that were sent with another value than the existing row has and keeps."""
    existing = refused.details or {}
    return {name for name in merge.keeps if str(getattr(row, name)) != str(existing.get(name))}


def _refuse_filters(query: str, merge: Merge[Any] | None) -> None:
    for name, value in split_parameters(query):
        if merge is not None and name == _ON_CONFLICT:
            if value.replace(" ", "") not in merge.on_conflict:
                expected = " or ".join(merge.on_conflict)
                raise invalid(f"on_conflict must be {expected}", field=_ON_CONFLICT, value=value[:64])
        elif name not in _PARAMETERS:
            raise invalid("A POST takes no filters", field=name[:64], value=value[:64])
