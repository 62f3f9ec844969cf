"""The one way from a handler here to the writer: with an id, an actor and a trace; refusals as what HTTP says."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Final, Protocol

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.analysis.validation import validate
from drover.domain.decider import Command
from drover.projection.positions import POSITION_HEADER, format_position
from drover.service.tracing import current, current_id
from drover.web.auth import Principal
from drover.web.errors import ApiError, refused
from drover.web.freshness import Freshness
from drover.web.idempotency import command_id

CONTEXT: Final = "analysis"


class Bus(Protocol):
    """What is needed of `drover.bus.client.CommandBus`."""

    def send(
        self, context: str, command: Command, *, by: str, id: str | None = None, trace: str | None = None
    ) -> Awaitable[Outcome]: ...


class Asking:
    def __init__(self, bus: Bus, freshness: Freshness) -> None:
        self._bus = bus
        self._freshness = freshness

    async def send(
        self, command: Command, principal: Principal, *, route: str, key: str | None = None, raw: bytes = b""
    ) -> tuple[Any, dict[str, str]]:
        """The result, and headers that say where the write stands. `key` is the client's Idempotency-Key."""
        if (rejection := validate(command)) is not None:  # the writer need not be asked
            raise refused(Rejected(rejection.code, rejection.message, rejection.details), current_id())
        outcome = await self.outcome(
            command, by=principal.name, id=command_id(key, principal=principal.name, route=route, body=raw)
        )
        if outcome.position:
            self._freshness.wrote(principal.name, CONTEXT, outcome.position)
        if isinstance(outcome, Rejected):
            raise _refusal(outcome)
        return outcome.result, position_headers(outcome)

    async def outcome(self, command: Command, *, by: str, id: str | None = None) -> Outcome:
        trace = current()
        return await self._bus.send(CONTEXT, command, by=by, id=id, trace=None if trace is None else str(trace))


def _refusal(rejected: Rejected) -> ApiError:
    error = refused(rejected, current_id())
    error.headers.update(position_headers(rejected))  # a refusal may be on record too
    return error


def position_headers(outcome: Accepted | Rejected) -> dict[str, str]:
    """What tells the client where its write stands; nothing where nothing was written."""
    return {POSITION_HEADER: format_position({CONTEXT: outcome.position})} if outcome.position else {}
