"""Sends commands about accounts and sessions to their writer, and queries it for accounts."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from drover.bus.messages import Accepted, Bus, Rejected
from drover.domain.decider import Command
from drover.domain.errors import Code
from drover.domain.identity import IDENTITY
from drover.domain.identity.commands import EndAllSessions, EndSession, FindAccount, ReadAccount
from drover.domain.identity.policy import AccountRole
from drover.web.commands import CommandClient, Origin
from drover.web.errors import not_found
from drover.web.freshness import Freshness

_CODES: Final = {Code.UNIQUE_VIOLATION: Code.CONFLICT}
"""Error codes to replace: a duplicate is reported as a conflict, because clients of these routes do not know
PostgREST's code for it."""
_QUESTION: Final = Origin(by="api")


class KnownAccount(msgspec.Struct, frozen=True):
    """An account in the writer's state. Its sealed (encrypted) fields stay sealed."""

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


class IdentityClient(CommandClient):
    """Sends commands to the writer of accounts and sessions. Never derives a command's id from the client's
    Idempotency-Key: that would put a digest of a password into the log."""

    def __init__(self, bus: Bus, freshness: Freshness | None = None) -> None:
        super().__init__(bus, IDENTITY.context, freshness=freshness, codes=_CODES)

    async def find(self, email_hashes: tuple[str, ...]) -> KnownAccount | None:
        return await self._known(FindAccount(email_hashes))

    async def read(self, account_id: str) -> KnownAccount | None:
        return await self._known(ReadAccount(account_id))

    async def existing(self, account_id: str) -> KnownAccount:
        """Read the account. Raises 404 if there is none."""
        account = await self.read(account_id)
        if account is None:
            raise not_found("Account")
        return account

    async def end(self, command: EndSession | EndAllSessions, origin: Origin) -> None:
        """End sessions. Succeeds also if they have already ended."""
        outcome = await self.outcome(command, origin)
        if isinstance(outcome, Rejected) and outcome.code != Code.NOT_FOUND:
            raise self.refusal(outcome)

    async def _known(self, question: Command) -> KnownAccount | None:
        outcome = await self.outcome(question, _QUESTION)
        if isinstance(outcome, Accepted):
            return msgspec.convert(outcome.result, KnownAccount)
        if outcome.code == Code.NOT_FOUND:
            return None
        raise self.refusal(outcome)
