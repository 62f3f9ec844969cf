"""The one way from the issuer's handlers to identity's writer, and what it tells about accounts."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import datetime
from typing import Any, Final, Protocol

import msgspec

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.decider import Command
from drover.domain.errors import Code
from drover.domain.identity.commands import FindAccount, ReadAccount
from drover.domain.identity.policy import AccountRole
from drover.projection.positions import POSITION_HEADER, format_position
from drover.service.tracing import current, current_id
from drover.web.errors import ApiError, refused

CONTEXT: Final = "identity"


class Bus(Protocol):
    """What is needed of `drover.bus.client.CommandBus`."""

    def send(self, context: str, command: Command, *, by: str, trace: str | None = None) -> Awaitable[Outcome]: ...


class KnownAccount(msgspec.Struct, frozen=True):
    """As the writer tells it: what is sealed is sealed."""

    account_id: str
    email_hash: str
    email_sealed: str
    role: AccountRole
    password_sealed: str
    revision: int
    disabled: bool
    created_at: datetime
    updated_at: datetime
    last_sign_in_at: datetime | None


class Desk:
    """Commands are never given a client's Idempotency-Key: its scope would put a digest of a password into the log."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def outcome(self, command: Command, *, by: str) -> Outcome:
        trace = current()
        return await self._bus.send(CONTEXT, command, by=by, trace=None if trace is None else str(trace))

    async def ask(self, command: Command, *, by: str) -> Accepted:
        """Done, or the refusal as what HTTP says."""
        outcome = await self.outcome(command, by=by)
        if isinstance(outcome, Rejected):
            raise refusal(outcome)
        return outcome

    async def find(self, email_hashes: tuple[str, ...]) -> KnownAccount | None:
        return await self._known(FindAccount(email_hashes))

    async def read(self, account_id: str) -> KnownAccount | None:
        return await self._known(ReadAccount(account_id))

    async def _known(self, command: Command) -> KnownAccount | None:
        outcome = await self.outcome(command, by="api")
        if isinstance(outcome, Accepted):
            return msgspec.convert(outcome.result, KnownAccount)
        if outcome.code == Code.NOT_FOUND:
            return None
        raise refusal(outcome)


def refusal(rejected: Rejected) -> ApiError:
    if rejected.code == Code.UNIQUE_VIOLATION:  # PostgREST's number for it helps nobody here
        return ApiError(409, Code.CONFLICT, rejected.message)
    return refused(rejected, current_id())


def position_headers(accepted: Accepted) -> dict[str, Any]:
    return {POSITION_HEADER: format_position({CONTEXT: accepted.position})} if accepted.position else {}
