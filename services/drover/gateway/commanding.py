"""The one way from a handler to a writer. What a command means and who may send it is not known here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.decider import Command, Rejection
from drover.domain.fleet.validation import validate as validate_fleet
from drover.projection.positions import POSITION_HEADER, format_position
from drover.service.api_keys import Role
from drover.service.tracing import current, current_id
from drover.web.auth import Principal
from drover.web.errors import ApiError, refused
from drover.web.freshness import Freshness, Waiter
from drover.web.idempotency import command_id

CONTEXT: Final = "fleet"
"""The one that most of this edge is about, and that its roster folds."""
ROSTER_WAIT_S: Final = 1.0
"""How long an answer is held back until the roster of this process has what was just written."""


class Bus(Protocol):
    """What is needed of `drover.bus.client.CommandBus`."""

    def send(
        self, context: str, command: Command, *, by: str, id: str | None = None, trace: str | None = None
    ) -> Awaitable[Outcome]: ...


class Commanding:
    """Sends commands to one context with id, actor and trace, and notes who wrote what, for reads that come after."""

    def __init__(
        self, bus: Bus, freshness: Freshness, roster_at: Waiter | None = None, *, context: str = CONTEXT
    ) -> None:
        self._bus = bus
        self._freshness = freshness
        self._roster_at = roster_at
        """None: this process keeps no roster of that context."""
        self.context = context

    async def send(
        self,
        command: Command,
        *,
        principal: Principal,
        route: str,
        key: str | None = None,
        raw: bytes = b"",
        device: str | None = None,
    ) -> Accepted:
        """Done and on disk, or the refusal as what HTTP says. `key` is the client's Idempotency-Key, `raw` its body.

        `device`: for which one the caller speaks. It tells apart those whose key is in every phone.
        """
        outcome = await self.outcome(command, principal=principal, route=route, key=key, raw=raw, device=device)
        return accepted(outcome, self.context)

    async def outcome(
        self,
        command: Command,
        *,
        principal: Principal,
        route: str,
        key: str | None = None,
        raw: bytes = b"",
        device: str | None = None,
        target: str = "",
    ) -> Outcome:
        """The same for those who make something of a refusal themselves. `target`: which row it is aimed at."""
        trace = current()
        outcome = await self._bus.send(
            self.context,
            command,
            by=principal.name,
            id=command_id(key, principal=principal.name, route=route, body=raw, target=target),
            trace=None if trace is None else str(trace),
        )
        if outcome.position:
            shared = device if principal.role is Role.ANON else None
            self._freshness.wrote(principal.name, self.context, outcome.position, device=shared)
        return outcome

    async def outcomes(
        self,
        commands: Sequence[Command],
        *,
        principal: Principal,
        route: str,
        key: str | None = None,
        raw: bytes = b"",
        targets: Sequence[str] | None = None,
    ) -> list[Outcome]:
        """Of several at once (the bus gathers them), each with an id of its own.

        `targets`: the row that each is aimed at, for writes whose body does not say it. Without them a second PATCH
        with the same key and body, but another filter, would pass for a repeat of the first.
        """
        return await asyncio.gather(
            *(
                self.outcome(command, principal=principal, route=route, key=key, raw=raw, target=target)
                for command, target in zip(commands, targets or map(str, range(len(commands))), strict=True)
            )
        )

    async def readable(self, headers: Mapping[str, str], principal: Principal) -> None:
        """Wait, as a read does, until the read model has what its caller wrote before."""
        await self._freshness.wait(headers, principal.name, self.context)

    async def on_roster(self, position: int) -> bool:
        """Wait until this process itself knows what was written: who asks next finds it."""
        if not position or self._roster_at is None:
            return True
        return await self._roster_at.wait(self.context, position, ROSTER_WAIT_S)


def check(command: Command, validate: Callable[[Command], Rejection | None] = validate_fleet) -> None:
    """400 for what can never be accepted: the writer need not be asked. `validate`: what its context says of it."""
    rejection = validate(command)
    if rejection is not None:
        raise refusal(Rejected(rejection.code, rejection.message, rejection.details))


def accepted(outcome: Outcome, context: str = CONTEXT) -> Accepted:
    if isinstance(outcome, Rejected):
        raise refusal(outcome, context)
    return outcome


def refusal(rejected: Rejected, context: str = CONTEXT) -> ApiError:
    error = refused(rejected, current_id())
    error.headers.update(position_headers(rejected.position, context))  # a refusal may be on record too
    return error


def position_headers(position: int, context: str = CONTEXT) -> dict[str, str]:
    """What tells the client where its write stands; nothing where nothing was written."""
    return {POSITION_HEADER: format_position({context: position})} if position else {}
