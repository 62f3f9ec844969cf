"""The one way from a handler to the writers: to the partition of a user, with an id, an actor and a trace."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.decider import Command
from drover.domain.partitions import partition_of
from drover.domain.reminder.validation import validate
from drover.projection.positions import POSITION_HEADER, format_position, place_of
from drover.reminder.sender import Bus
from drover.service.tracing import current, current_id
from drover.web.auth import Principal
from drover.web.errors import ApiError, refused
from drover.web.freshness import Freshness
from drover.web.idempotency import command_id

CONTEXT: Final = "reminder"


class Asking:
    def __init__(self, bus: Bus, freshness: Freshness, partitions: Sequence[str]) -> None:
        self._bus = bus
        self._freshness = freshness
        self._partitions = tuple(partitions)

    async def of_user(
        self, user_id: str, command: Command, principal: Principal, *, route: str, key: str | None, raw: bytes = b""
    ) -> tuple[Any, dict[str, str]]:
        """The result, and headers that say where the write stands. `key` is the client's Idempotency-Key."""
        _check(command)
        partition = partition_of(user_id, self._partitions)
        outcome = await self._send(partition, command, principal, route, key, raw)
        headers = position_headers({partition: outcome})
        if isinstance(outcome, Rejected):
            raise _refusal(outcome, headers)
        return outcome.result, headers

    async def of_user_all(
        self,
        user_id: str,
        commands: Sequence[Command],
        principal: Principal,
        *,
        route: str,
        key: str | None,
        raw: bytes = b"",
    ) -> tuple[list[Any], dict[str, str]]:
        """Several of one user."""
        return await self._all((partition_of(user_id, self._partitions),), commands, principal, route, key, raw)

    async def of_all(
        self, commands: Sequence[Command], principal: Principal, *, route: str, key: str | None, raw: bytes = b""
    ) -> tuple[list[Any], dict[str, str]]:
        """Each to every partition: for what is nobody's in particular. The results of all of them."""
        return await self._all(self._partitions, commands, principal, route, key, raw)

    async def _all(
        self,
        partitions: Sequence[str],
        commands: Sequence[Command],
        principal: Principal,
        route: str,
        key: str | None,
        raw: bytes,
    ) -> tuple[list[Any], dict[str, str]]:
        for command in commands:
            _check(command)
        asked = [(name, index, command) for name in partitions for index, command in enumerate(commands)]
        outcomes = await asyncio.gather(
            *(self._send(name, command, principal, route, key, raw, f"{name}/{i}") for name, i, command in asked)
        )
        latest: dict[str, Outcome] = {}
        for (name, _, _), outcome in zip(asked, outcomes, strict=True):
            if name not in latest or outcome.position > latest[name].position:
                latest[name] = outcome
        headers = position_headers(latest)
        for outcome in outcomes:
            if isinstance(outcome, Rejected):
                raise _refusal(outcome, headers)
        return [outcome.result for outcome in outcomes if isinstance(outcome, Accepted)], headers

    async def _send(
        self,
        partition: str,
        command: Command,
        principal: Principal,
        route: str,
        key: str | None,
        raw: bytes,
        target: str = "",
    ) -> Outcome:
        trace = current()
        outcome = await self._bus.send(
            CONTEXT,
            command,
            by=principal.name,
            id=command_id(key, principal=principal.name, route=route, body=raw, target=target),
            trace=None if trace is None else str(trace),
            partition=partition,
        )
        if outcome.position:
            self._freshness.wrote(principal.name, place_of(CONTEXT, partition), outcome.position)
        return outcome


def _check(command: Command) -> None:
    """400 for what can never be accepted: the writer need not be asked."""
    if (rejection := validate(command)) is not None:
        raise refused(Rejected(rejection.code, rejection.message, rejection.details), current_id())


def _refusal(rejected: Rejected, headers: dict[str, str]) -> ApiError:
    error = refused(rejected, current_id())
    error.headers.update(headers)  # a refusal may be on record too
    return error


def position_headers(outcomes: dict[str, Outcome]) -> dict[str, str]:
    """What tells the client where its writes stand, by partition; nothing where nothing was written."""
    written = {place_of(CONTEXT, name): outcome.position for name, outcome in outcomes.items() if outcome.position}
    return {POSITION_HEADER: format_position(written)} if written else {}
