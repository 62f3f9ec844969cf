"""`POST /rest/v1/devices` and `/pcs`: bodies become commands to the fleet. The rules are the decider's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Generic, Protocol, TypeVar
from uuid import UUID

import msgspec
from aiohttp import web
from msgspec import UNSET, UnsetType
from uuid_utils import uuid7

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.decider import Command
from drover.domain.fleet.commands import RegisterDevice, RegisterPc
from drover.domain.fleet.decider import decide
from drover.domain.fleet.policy import PC_CAPACITY_DEFAULT
from drover.domain.fleet.state import Fleet
from drover.gateway.relations import RELATIONS
from drover.gateway.representation import Row, answer_creation, check_media, check_select
from drover.projection.positions import POSITION_HEADER, format_position
from drover.service.tracing import current, current_id
from drover.web.auth import Authenticator, Principal
from drover.web.bodies import Body, read_body
from drover.web.errors import ApiError, invalid, refused
from drover.web.freshness import Freshness, Waiter
from drover.web.idempotency import HEADER, command_id
from drover.web.permissions import Verb, demand
from drover.web.postgrest.grammar import parse_select, split_parameters
from drover.web.postgrest.prefer import parse_prefer
from drover.web.postgrest.respond import check_profile

CONTEXT: Final = "fleet"
ROWS_PER_POST_MAX: Final = 100
ROSTER_WAIT_S: Final = 1.0

_PARAMETERS: Final = frozenset({"select", "columns"})

T = TypeVar("T", bound=msgspec.Struct)


class Bus(Protocol):
    """What is needed of `drover.bus.client.CommandBus`."""

    def send(
        self, context: str, command: Command, *, by: str, id: str | None = None, trace: str | None = None
    ) -> Awaitable[Outcome]: ...


class NewDevice(msgspec.Struct, forbid_unknown_fields=True):
    """A row of `devices` as a client writes it."""

    serial_number: str
    group_id: str
    pc_id: str
    id: UUID | UnsetType = UNSET
    capabilities: tuple[str, ...] = ()

    def command(self) -> RegisterDevice:
        device_id = str(uuid7() if self.id is UNSET else self.id)
        return RegisterDevice(device_id, self.serial_number, self.group_id, self.pc_id, self.capabilities)


class NewPc(msgspec.Struct, forbid_unknown_fields=True):
    """A row of `pcs` as a client writes it."""

    id: str
    capacity: int = PC_CAPACITY_DEFAULT

    def command(self) -> RegisterPc:
        return RegisterPc(self.id, self.capacity)


class Registration(Generic[T]):
    """The handler of one relation: rows in, one command each, all sent at once (the bus gathers them)."""

    def __init__(
        self,
        relation: str,
        shape: type[T],
        to_command: Callable[[T], Command],
        auth: Authenticator,
        bus: Bus,
        freshness: Freshness,
        roster_at: Waiter,
    ) -> None:
        self._relation = relation
        self._body = Body(shape)
        self._to_command = to_command
        self._auth = auth
        self._bus = bus
        self._freshness = freshness
        self._roster_at = roster_at

    async def post(self, request: web.Request) -> web.Response:
        headers = request.headers
        principal = self._auth.authenticate(headers)
        demand(principal, self._relation, Verb.CREATE)
        check_profile(headers, "Content-Profile")
        preferences = parse_prefer(headers.getall("Prefer", ()))
        select = _select(request.rel_url.raw_query_string)
        check_select(select, RELATIONS[self._relation])
        raw = await read_body(request)
        rows, many = self._body.decode_many(raw, count_max=ROWS_PER_POST_MAX)
        check_media(len(rows), preferences, headers)
        commands = [self._to_command(row) for row in rows]
        _check(commands, many)
        outcomes = await self._send(commands, headers, raw, principal)
        position = max((outcome.position for outcome in outcomes), default=0)
        if position:
            self._freshness.wrote(principal.name, CONTEXT, position)
            # So that the heartbeat of a phone that was registered a moment ago finds it.
            await self._roster_at.wait(CONTEXT, position, ROSTER_WAIT_S)
        results = _results(outcomes, commands, many)
        return answer_creation(
            results,
            preferences,
            headers,
            select=select,
            extra={POSITION_HEADER: format_position({CONTEXT: position})} if position else {},
        )

    async def _send(
        self, commands: Sequence[Command], headers: Mapping[str, str], raw: bytes, principal: Principal
    ) -> list[Outcome]:
        key = headers.get(HEADER)
        trace = current()
        ids = [
            command_id(key, principal=principal.name, route=f"POST {self._relation} {index}", body=raw)
            for index in range(len(commands))
        ]
        return await asyncio.gather(
            *(
                self._bus.send(CONTEXT, command, by=principal.name, id=id_, trace=str(trace) if trace else None)
                for command, id_ in zip(commands, ids, strict=True)
            )
        )


def _select(query: str) -> tuple[Any, ...]:
    select: tuple[Any, ...] = ()
    for name, value in split_parameters(query):
        if name not in _PARAMETERS:
            raise invalid("A POST takes no filters", field=name[:64], value=value[:64])
        if name == "select":
            select = parse_select(value)
    return select


def _check(commands: Sequence[Command], many: bool) -> None:
    """Ask the domain what it thinks of each command on its own, before any of them is sent.

    Each command is atomic, an array of them is not: so all that can be refused beforehand is. What is left is a serial
    number that is taken.
    """
    seen: dict[str, int] = {}
    now = datetime.now(UTC)
    for index, command in enumerate(commands):
        decision = decide(Fleet(), command, now)  # type: ignore[arg-type]  # one of the two above
        if decision.rejection is not None:
            rejection = decision.rejection
            raise _in_place(Rejected(rejection.code, rejection.message, rejection.details), index if many else None)
        if isinstance(command, RegisterDevice) and seen.setdefault(command.serial_number, index) != index:
            raise invalid(
                "The same serial number stands twice in the body",
                field=f"[{index}].serial_number",
                value=command.serial_number,
            )


def _in_place(rejected: Rejected, index: int | None) -> ApiError:
    """The refusal of one row; in an array it says which."""
    error = refused(rejected, current_id())
    if index is not None and isinstance(error.details, dict):
        field = error.details.get("field")
        error.details = {**error.details, "index": index, **({"field": f"[{index}].{field}"} if field else {})}
    return error


def _results(outcomes: Sequence[Outcome], commands: Sequence[Command], many: bool) -> list[Row]:
    for index, outcome in enumerate(outcomes):
        if isinstance(outcome, Rejected):
            error = _in_place(outcome, index if many else None)
            accepted = [place for place, other in enumerate(outcomes) if isinstance(other, Accepted)]
            if accepted:
                details = error.details if isinstance(error.details, dict) else {}
                error.details = {**details, "accepted": accepted}
                error.hint = "Rows whose index is in details.accepted were registered."
            raise error
    return [
        outcome.result if isinstance(outcome.result, dict) else _unchanged(command)
        for outcome, command in zip(outcomes, commands, strict=True)
        if isinstance(outcome, Accepted)
    ]


def _unchanged(command: Command) -> Row:
    """A PC that was already known with this capacity: nothing happened, and this is how it is."""
    assert isinstance(command, RegisterPc), command
    return {"id": command.pc_id, "capacity": command.capacity}
