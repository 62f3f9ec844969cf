"""State of identity's decider: accounts, live sessions, and sessions that ended within the last hour."""

from __future__ import annotations

from datetime import datetime

import msgspec

from drover.domain.identity.policy import AccountRole
from drover.domain.timers import Timers


class Account(msgspec.Struct):
    account_id: str
    email_hash: str
    email_sealed: str
    role: AccountRole
    password_sealed: str
    created_at: datetime
    updated_at: datetime
    revision: int = 1
    """Grows with every change of the account after which an earlier check of its password is no longer valid."""
    disabled: bool = False
    last_sign_in_at: datetime | None = None
    sessions: dict[str, None] = {}
    """Ids of its live sessions, the least recently used first."""

    @property
    def is_admin(self) -> bool:
        return self.role is AccountRole.ADMIN and not self.disabled


class Spent(msgspec.Struct, array_like=True, gc=False):
    """A refresh token that was used a moment ago."""

    parent: str
    child: str
    until: datetime


class Session(msgspec.Struct):
    """A chain of refresh tokens, each made from the one before. Only the newest is valid."""

    session_id: str
    account_id: str
    digest: str
    """Digest of the valid token."""
    user_agent: str
    started_at: datetime
    last_used_at: datetime
    expires_at: datetime
    ends_at: datetime
    spent: list[Spent] = []
    """Used tokens that were still in their grace period at the last rotation."""


class Ended(msgspec.Struct, array_like=True, gc=False):
    account_id: str
    reason: str


class Identity(msgspec.Struct):
    accounts: dict[str, Account] = {}
    by_email: dict[str, str] = {}
    """By hash of the e-mail address, the account's id."""
    admins: int = 0
    """Number of admins that are not disabled."""
    sessions: dict[str, Session] = {}
    ended: dict[str, Ended] = {}
    alerts: dict[str, str] = {}
    timers: Timers = msgspec.field(default_factory=Timers)
    ahead_s: float = 0.0
    """Seconds by which the partition's time is ahead of the wall clock, which all moments here follow."""
