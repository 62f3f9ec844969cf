"""`POST` of rows: each becomes one command. Each relation decides which command, and what the answer shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

import msgspec
from aiohttp import web

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.decider import Command
from drover.domain.errors import Code
from drover.gateway.representation import answer_creation, parse_view
from drover.gateway.rows import Row
from drover.readmodel.models import RELATIONS
from drover.web.auth import Principal
from drover.web.bodies import Body, read_body
from drover.web.commands import CommandClient, Origin, request_origin
from drover.web.errors import ApiError, invalid
from drover.web.postgrest.grammar import split_parameters
from drover.web.postgrest.respond import check_profile

ROWS_PER_POST_MAX: Final = 100

_PARAMETERS: Final = frozenset({"select", "columns"})
_ON_CONFLICT: Final = "on_conflict"

T = TypeVar("T", bound=msgspec.Struct)
C = TypeVar("C", bound=Command)


class Merge(msgspec.Struct, Generic[C], frozen=True):
    """`Prefer: resolution=merge-duplicates`, which is Supabase's `upsert`."""

    command: Callable[[C, Rejected], Command]
    """The command that changes an existing row to what was sent. The refusal of the first command names the row."""
    on_conflict: tuple[str, ...]
    """Allowed values of the parameter `on_conflict`: the columns that identify a row."""


class Creation(Generic[T, C]):
    """The handler of one relation: rows in, one command each, all sent at once (the bus gathers them)."""

    def __init__(
        self,
        relation: str,
        shape: type[T],
        to_command: Callable[[T], C],
        show: Callable[[C, Accepted], Row],
        *,
        client: CommandClient,
        unique: str | None = None,
        names: Mapping[str, str] = MappingProxyType({}),
        merge: Merge[C] | None = None,
    ) -> None:
        self._relation = relation
        self._body = Body(shape)
        self._to_command = to_command
        self._show = show
        self._client = client
        self._unique = unique
        """A field that must be unique within one body."""
        self._names = names
        """Fields of the command that have another name for clients."""
        self._merge = merge

    async def post(self, request: web.Request, principal: Principal) -> web.Response:
        headers = request.headers
        check_profile(headers, "Content-Profile")
        query = request.rel_url.raw_query_string
        _refuse_filters(query, self._merge)
        raw = await read_body(request)
        rows, many = self._body.decode_many(raw, count_max=ROWS_PER_POST_MAX)
        preferences, select = parse_view(RELATIONS[self._relation], headers, query, len(rows))
        commands = self._commands(rows, many)
        self._check(rows, commands, many)
        origin = request_origin(request, principal, route=f"POST {self._relation}", raw=raw)
        outcomes = await self._client.outcomes(commands, origin)
        if self._merge is not None and preferences.resolution == "merge-duplicates":
            preferences = preferences.resolving()
            outcomes = await self._merged(commands, outcomes, origin)
        position = max((outcome.position for outcome in outcomes), default=0)
        # So that the next request, for example of a phone registered a moment ago, finds it here.
        await self._client.wait_local(position)
        return answer_creation(
            [self._show(command, done) for command, done in zip(commands, self._done(outcomes, many), strict=True)],
            preferences,
            headers,
            select=select,
            extra=self._client.position_headers(position),
        )

    def _commands(self, rows: Sequence[T], many: bool) -> list[C]:
        commands: list[C] = []
        for index, row in enumerate(rows):
            try:
                commands.append(self._to_command(row))
            except ApiError as error:
                raise self._placed(error, index if many else None) from error
        return commands

    async def _merged(self, commands: Sequence[C], outcomes: Sequence[Outcome], origin: Origin) -> list[Outcome]:
        """Change existing rows to what was sent."""
        assert self._merge is not None
        settled = list(outcomes)
        there = {
            index: outcome
            for index, outcome in enumerate(outcomes)
            if isinstance(outcome, Rejected) and outcome.code == Code.UNIQUE_VIOLATION
        }
        # With the same ids: a repeat of the whole request then gets the outcome of whichever command was recorded.
        merged = await self._client.outcomes(
            [self._merge.command(commands[index], refused) for index, refused in there.items()],
            origin,
            targets=list(map(str, there)),
        )
        for (index, refused), outcome in zip(there.items(), merged, strict=True):
            unchanged = isinstance(outcome, Accepted) and outcome.result is None
            settled[index] = Accepted(0, refused.details) if unchanged else outcome
        return settled

    def _check(self, rows: Sequence[T], commands: Sequence[C], many: bool) -> None:
        """Validate every command before any of them is sent.

        Each command is atomic, an array of them is not: so refuse as much as possible beforehand.
        """
        seen: dict[Any, int] = {}
        for index, (row, command) in enumerate(zip(rows, commands, strict=True)):
            if (rejection := self._client.validate(command)) is not None:
                refused = Rejected(rejection.code, rejection.message, rejection.details)
                raise self._in_place(refused, index if many else None)
            if self._unique is None:
                continue
            value = getattr(row, self._unique)
            if seen.setdefault(value, index) != index:
                message = f"The same {self._unique} appears twice in the body"
                raise invalid(message, field=f"[{index}].{self._unique}", value=value)

    def _done(self, outcomes: Sequence[Outcome], many: bool) -> list[Accepted]:
        """All results, or the first refusal, which lists the rows that were written nevertheless."""
        done = [outcome for outcome in outcomes if isinstance(outcome, Accepted)]
        for index, outcome in enumerate(outcomes):
            if isinstance(outcome, Rejected):
                error = self._in_place(outcome, index if many else None)
                if done:
                    details = error.details if isinstance(error.details, dict) else {}
                    accepted = [place for place, other in enumerate(outcomes) if isinstance(other, Accepted)]
                    error.details = {**details, "accepted": accepted}
                    error.hint = "Rows whose index is in details.accepted were written."
                    position = max(one.position for one in done)
                    error.headers.update(self._client.position_headers(position))
                raise error
        return done

    def _in_place(self, rejected: Rejected, index: int | None) -> ApiError:
        """The refusal of one row, with the client's field names; in an array, with the index of the row."""
        return self._placed(self._client.refusal(rejected), index)

    def _placed(self, error: ApiError, index: int | None) -> ApiError:
        if not isinstance(error.details, dict):
            return error
        details = dict(error.details)
        if (field := details.get("field")) is not None:
            name = self._names.get(field, field)
            details["field"] = name if index is None else f"[{index}].{name}"
        error.details = details if index is None else {**details, "index": index}
        return error


def _refuse_filters(query: str, merge: Merge[Any] | None) -> None:
    for name, value in split_parameters(query):
        if merge is not None and name == _ON_CONFLICT:
            if value.replace(" ", "") not in merge.on_conflict:
                expected = " or ".join(merge.on_conflict)
                raise invalid(f"on_conflict must be {expected}", field=_ON_CONFLICT, value=value[:64])
        elif name not in _PARAMETERS:
            raise invalid("A POST takes no filters", field=name[:64], value=value[:64])
