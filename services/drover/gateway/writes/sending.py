"""Sends the commands of one write. Remembers their positions in the log, and the columns that were passed over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.decider import Command
from drover.gateway.writes.edge import Edge
from drover.projection.positions import POSITION_HEADER, format_position
from drover.web.auth import Principal
from drover.web.commands import CommandClient, Origin
from drover.web.errors import ApiError
from drover.web.permissions import Grant


class Sending:
    """One write of one caller."""

    def __init__(
        self,
        edge: Edge,
        client: Callable[[Edge, Any], CommandClient],
        *,
        principal: Principal,
        grant: Grant,
        origin: Origin,
        names: Iterable[str] = (),
        ignored: Iterable[str] = (),
    ) -> None:
        """`names`: the columns of the body that mean something in this kind of write. `ignored`: its other columns."""
        self.edge = edge
        self.principal = principal
        self.grant = grant
        self.origin = origin
        self._client = client
        self.names = tuple(names)
        self._ignored = dict.fromkeys(ignored)
        self._written: dict[CommandClient, int] = {}

    async def send(self, commands: Sequence[Command], targets: Sequence[str] | None = None) -> list[Outcome]:
        """Send all commands at once (the bus batches them). `targets`: the id of each command's row, which becomes part
        of the command's id if the request has an Idempotency-Key.

        Two commands for one row have the same id: the write is one request, and a repeat with the same key gets the
        outcome of whichever command was recorded.
        """
        aimed = zip(commands, targets or map(str, range(len(commands))), strict=True)
        return await asyncio.gather(*(self._send(command, target) for command, target in aimed))

    async def _send(self, command: Command, target: str) -> Outcome:
        client = self._client(self.edge, command)
        outcome = await client.outcome(command, self.origin, target=target)
        self._note(client, outcome)
        return outcome

    async def ask(self, questions: Sequence[Command]) -> list[Outcome]:
        """Send queries. A query writes nothing, so it needs no key."""
        origin = Origin(by=self.origin.by)
        return await asyncio.gather(*(self._client(self.edge, one).outcome(one, origin) for one in questions))

    def check(self, commands: Iterable[Command]) -> None:
        """400 for a command that can never be accepted, before any is sent."""
        for command in commands:
            self._client(self.edge, command).check(command)

    def note(self, accepted: Accepted | None, client: CommandClient) -> None:
        """Remember a command that was sent by other means than `send`."""
        if accepted is not None:
            self._note(client, accepted)

    def _note(self, client: CommandClient, outcome: Outcome) -> None:
        self._written[client] = max(outcome.position, self._written.get(client, 0))

    def use_only(self, columns: Collection[str]) -> None:
        """Pass over the other columns that were given: they mean nothing in this write."""
        self.pass_over(name for name in self.names if name not in columns)

    def pass_over(self, columns: Iterable[str]) -> None:
        """Name these columns in the header `Drover-Ignored` of the answer."""
        self._ignored.update(dict.fromkeys(columns))

    def refusal(self, rejected: Rejected, command: Command | None = None) -> ApiError:
        return self._client(self.edge, command).refusal(rejected)

    async def settle_locally(self) -> None:
        """Wait until the live state of this process has what was written, so that the next request sees it."""
        await asyncio.gather(*(client.wait_local(position) for client, position in self._written.items()))

    @property
    def headers(self) -> dict[str, str]:
        written = {client.place: position for client, position in self._written.items() if position}
        headers = {POSITION_HEADER: format_position(written)} if written else {}
        if self._ignored:
            headers["Drover-Ignored"] = ", ".join(self._ignored)
        return headers
