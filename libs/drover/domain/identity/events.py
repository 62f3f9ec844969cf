"""Events of accounts and sessions. They have e-mail addresses and passwords only hashed or sealed, and digests of
tokens."""

from __future__ import annotations

from datetime import datetime

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.event import Event, TermStarted


class AccountCreated(Event):
    account_id: str
    email_hash: str
    """HMAC of the e-mail address, by which the account is found."""
    email_sealed: str
    role: str
    password_sealed: str
    """The argon2id hash, sealed: somebody who has only the log cannot test guesses against it."""


class PasswordChanged(Event):
    account_id: str
    password_sealed: str


class RoleChanged(Event):
    account_id: str
    role: str


class AccountDisabled(Event):
    account_id: str


class AccountEnabled(Event):
    account_id: str


class AccountResealed(Event):
    """The same address and password were sealed with other keys."""

    account_id: str
    email_hash: str
    email_sealed: str
    password_sealed: str


class SessionStarted(Event):
    """Somebody signed in."""

    session_id: str
    account_id: str
    digest: str
    """Digest of the first refresh token."""
    user_agent: str
    """A label such as `Firefox on Windows`, never the header itself."""
    expires_at: datetime
    """When the session expires if it is not used until then."""
    ends_at: datetime
    """When the session ends in any case."""


class RefreshRotated(Event):
    """A refresh token was used, and replaced by a new one, its child."""

    session_id: str
    account_id: str
    parent: str
    child: str
    grace_until: datetime
    """Until this time, using the old token again returns the same child."""
    expires_at: datetime


class SessionEnded(Event):
    session_id: str
    account_id: str
    reason: str
    kept_until: datetime
    """When the ended session leaves the decider's state."""


class SessionArchived(Event):
    """An ended session left the state; the read model keeps it."""

    session_id: str


IdentityEvent = (
    TermStarted
    | AccountCreated
    | PasswordChanged
    | RoleChanged
    | AccountDisabled
    | AccountEnabled
    | AccountResealed
    | SessionStarted
    | RefreshRotated
    | SessionEnded
    | SessionArchived
    | AlertRaised
    | AlertResolved
)
