"""Sends the commands of HTTP handlers to the writer of a context, and turns its rejections into HTTP errors.

It does not know what a command means or who may send it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec
from aiohttp import web

from drover.bus.messages import Accepted, Bus, Outcome, Rejected
from drover.domain.decider import Command, Rejection
from drover.domain.errors import Code
from drover.domain.partitions import MAIN, partition_of
from drover.projection.positions import POSITION_HEADER, format_position, place_of
from drover.service.tracing import current, current_id
from drover.web.answers import json_answer
from drover.web.auth import Principal
from drover.web.errors import ApiError, refused
from drover.web.freshness import Freshness, Waiter
from drover.web.idempotency import HEADER, command_id

LOCAL_WAIT_S: Final = 1.0
"""How long an answer waits, in seconds, until this process's own copy of the state includes the request's write."""

Validate = Callable[[Any], Rejection | None]
Recall = Callable[[Command, Rejected], Awaitable[Outcome]]


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Who sends a command, and which request it is part of."""

    by: str
    """The actor in the command's events."""
    route: str = ""
    key: str | None = None
    """The client's Idempotency-Key. Its scope is the actor, the route and the target."""
    raw: bytes = b""
    """The body of the request. The same Idempotency-Key with a different body is refused."""


def origin_of(principal: Principal, *, route: str = "", key: str | None = None, raw: bytes = b"") -> Origin:
    return Origin(by=principal.name, route=route, key=key, raw=raw)


def request_origin(request: web.Request, principal: Principal, *, route: str | None = None, raw: bytes = b"") -> Origin:
    """Make the origin of an HTTP request, with its Idempotency-Key. `route` defaults to its method and path."""
    named = f"{request.method} {request.path}" if route is None else route
    return origin_of(principal, route=named, key=request.headers.get(HEADER), raw=raw)


def _valid(command: Any) -> None:
    return None


class CommandClient:
    """Sends commands with id, actor and trace to one partition of a context, and remembers the positions of its
    writes."""

    def __init__(
        self,
        bus: Bus,
        context: str,
        *,
        partition: str = MAIN,
        freshness: Freshness | None = None,
        local: Waiter | None = None,
        validate: Validate = _valid,
        codes: Mapping[str, str] = MappingProxyType({}),
        recall: Recall | None = None,
    ) -> None:
        """`freshness` delays reads until they show the write. `local` tells how far this process itself has folded the
        context. `validate` finds commands that can never be accepted. `codes` renames codes of rejections. `recall`
        answers commands about work that the writer does not know, such as `ForgottenWork.answer`."""
        self._bus = bus
        self.context = context
        self.partition = partition
        self.place = place_of(context, partition)
        self._freshness = freshness
        self._local = local
        self._here = None if local is None or freshness is None else freshness.of(local)
        self.validate = validate
        self._codes = codes
        self._recall = recall

    async def send(self, command: Command, origin: Origin) -> Accepted:
        """Send a command; return once it is on disk, or raise its rejection as an HTTP error."""
        self.check(command)
        return self.accepted(await self.outcome(command, origin))

    async def answer(
        self, command: Command, request: web.Request, principal: Principal, *, raw: bytes, status: int = 200
    ) -> web.Response:
        """Send the command of a request, and answer with its result. `raw`: the body of the request."""
        done = await self.send(command, request_origin(request, principal, raw=raw))
        return json_answer(done.result, status=status, headers=self.position_headers(done.position))

    async def outcome(self, command: Command, origin: Origin, *, target: str = "") -> Outcome:
        """Like `send`, but without validation, and a rejection is returned, not raised. `target`: the row that the
        command changes."""
        trace = current()
        outcome = await self._bus.send(
            self.context,
            command,
            by=origin.by,
            id=command_id(origin.key, principal=origin.by, route=origin.route, body=origin.raw, target=target),
            trace=None if trace is None else str(trace),
            partition=self.partition,
        )
        if outcome.position and self._freshness is not None:
            self._freshness.wrote(self.place, outcome.position)
        if self._recall is not None and isinstance(outcome, Rejected) and outcome.code == Code.NOT_FOUND:
            return await self._recall(command, outcome)
        return outcome

    async def outcomes(
        self, commands: Sequence[Command], origin: Origin, *, targets: Sequence[str] | None = None
    ) -> list[Outcome]:
        """Send several commands at once (the bus batches them), each with its own id, and return their outcomes.

        `targets`: the row that each command changes, for writes whose body does not name it. Without them, a second
        PATCH with the same Idempotency-Key and body, but another filter, would count as a repeat of the first.
        """
        aimed = zip(commands, targets or map(str, range(len(commands))), strict=True)
        return await asyncio.gather(*(self.outcome(command, origin, target=target) for command, target in aimed))

    def check(self, *commands: Command) -> None:
        """Raise an HTTP error for a command that can never be accepted, without asking the writer."""
        for command in commands:
            if (rejection := self.validate(command)) is not None:
                raise self.refusal(Rejected(rejection.code, rejection.message, rejection.details))

    def accepted(self, outcome: Outcome) -> Accepted:
        if isinstance(outcome, Rejected):
            raise self.refusal(outcome)
        return outcome

    def refusal(self, rejected: Rejected) -> ApiError:
        code = self._codes.get(rejected.code, rejected.code)
        error = refused(msgspec.structs.replace(rejected, code=code), current_id())
        error.headers.update(self.position_headers(rejected.position))  # a rejection may write events, too
        return error

    def position_headers(self, position: int) -> dict[str, str]:
        """Return headers that tell the client the log position of its write; empty if nothing was written."""
        return position_headers({self.place: position})

    async def readable(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        """Wait, as a read does, until the read model has every earlier write. Returns the headers that belong into the
        answer."""
        return {} if self._freshness is None else (await self._freshness.wait(headers, self.context)).headers

    async def known_here(self) -> None:
        """Wait until this process itself has folded every earlier write, whichever process sent it."""
        if self._here is not None:
            await self._here.wait({}, self.context)

    async def wait_local(self, position: int) -> bool:
        """Wait until this process itself has folded the write at this position, so that the next request here sees it.

        Return False after a time-out.
        """
        if not position or self._local is None:
            return True
        return await self._local.wait(self.place, position, LOCAL_WAIT_S)


class PartitionedClient:
    """The clients of a context that is partitioned by owner, such as a user."""

    def __init__(
        self, bus: Bus, context: str, partitions: Sequence[str], *, freshness: Freshness, validate: Validate
    ) -> None:
        self._clients = {
            name: CommandClient(bus, context, partition=name, freshness=freshness, validate=validate)
            for name in partitions
        }
        self._names = tuple(partitions)

    def of(self, owner: str) -> CommandClient:
        """Return the client of the partition that holds this owner's data."""
        return self._clients[partition_of(owner, self._names)]

    async def send_all(
        self, commands: Sequence[Command], origin: Origin, *, owner: str | None = None
    ) -> tuple[list[Any], dict[str, str]]:
        """Send several commands to the partition of `owner`. Without an owner, send them to every partition. Returns
        all results, and headers with the positions. Raises the first rejection; its headers have the positions of the
        commands that were accepted nevertheless."""
        clients = list(self._clients.values()) if owner is None else [self.of(owner)]
        clients[0].check(*commands)
        asked = [(client, index, command) for client in clients for index, command in enumerate(commands)]
        outcomes = await asyncio.gather(
            *(client.outcome(command, origin, target=f"{client.partition}/{index}") for client, index, command in asked)
        )
        written: dict[str, int] = {}
        for (client, _, _), outcome in zip(asked, outcomes, strict=True):
            written[client.place] = max(outcome.position, written.get(client.place, 0))
        headers = position_headers(written)
        for (client, _, _), outcome in zip(asked, outcomes, strict=True):
            if isinstance(outcome, Rejected):
                error = client.refusal(outcome)
                error.headers.update(headers)
                raise error
        return [outcome.result for outcome in outcomes if isinstance(outcome, Accepted)], headers


def position_headers(positions: Mapping[str, int]) -> dict[str, str]:
    """Return headers that tell the client the log positions of its writes; empty if nothing was written."""
    written = {place: position for place, position in positions.items() if position}
    return {POSITION_HEADER: format_position(written)} if written else {}
