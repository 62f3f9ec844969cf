"""Sends the commands of one write. Collects their log positions and the ignored columns for the answer."""

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
    """Sends the commands of one request, and collects the headers for its answer."""

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
        """`names`: the columns of the body that can have an effect. `ignored`: its other columns."""
        self.edge = edge
        self.principal = principal
        self.grant = grant
        self.origin = origin
        self._client = client
        self.names = tuple(names)
        self._ignored = dict.fromkeys(ignored)
        self._written: dict[CommandClient, int] = {}

    async def send(self, commands: Sequence[Command], targets: Sequence[str] | None = None) -> list[Outcome]:
        """Send all commands at once; the bus batches them.

        `targets`: the id of each command's row. If the request has an Idempotency-Key, the command's id follows from
        both. So two commands for one row have the same id, and a repeat of the request gets the outcome of the command
        that was recorded.
        """
        aimed = zip(commands, targets or map(str, range(len(commands))), strict=True)
        return await asyncio.gather(*(self._send(command, target) for command, target in aimed))

    async def _send(self, command: Command, target: str) -> Outcome:
        client = self._client(self.edge, command)
        outcome = await client.outcome(command, self.origin, target=target)
        self._note(client, outcome)
        return outcome

    async def ask(self, questions: Sequence[Command]) -> list[Outcome]:
        """Send queries. A query writes nothing, so it needs no Idempotency-Key."""
        origin = Origin(by=self.origin.by)
        return await asyncio.gather(*(self._client(self.edge, one).outcome(one, origin) for one in questions))

    def check(self, commands: Iterable[Command]) -> None:
        """Raise 400 for a command that can never be accepted. Call it before any command is sent."""
        for command in commands:
            self._client(self.edge, command).check(command)

    def note(self, accepted: Accepted | None, client: CommandClient) -> None:
        """Remember the log position of a command that was not sent with `send`."""
        if accepted is not None:
            self._note(client, accepted)

    def _note(self, client: CommandClient, outcome: Outcome) -> None:
        self._written[client] = max(outcome.position, self._written.get(client, 0))

    def use_only(self, columns: Collection[str]) -> None:
        """Report all other columns of the body as ignored."""
        self.pass_over(name for name in self.names if name not in columns)

    def pass_over(self, columns: Iterable[str]) -> None:
        """Report these columns as ignored, in the header `Drover-Ignored`."""
        self._ignored.update(dict.fromkeys(columns))

    def refusal(self, rejected: Rejected, command: Command | None = None) -> ApiError:
        return self._client(self.edge, command).refusal(rejected)

    async def settle_locally(self) -> None:
        """Wait until the live state of this process has these writes, so that the next request sees them."""
        await asyncio.gather(*(client.wait_local(position) for client, position in self._written.items()))

    @property
    def headers(self) -> dict[str, str]:
        written = {client.place: position for client, position in self._written.items() if position}
        headers = {POSITION_HEADER: format_position(written)} if written else {}
        if self._ignored:
            headers["Drover-Ignored"] = ", ".join(self._ignored)
        return headers
