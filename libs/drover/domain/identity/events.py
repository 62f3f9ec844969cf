"""Events of accounts, sessions, API keys and enrolments. E-mail addresses and passwords are in them only hashed or
sealed (encrypted), tokens and codes only as digests."""

from __future__ import annotations

from datetime import datetime

import msgspec

from drover.domain.alerts import (
    AlertAcknowledged,
    AlertRaised,
    AlertResolved,
    AlertSnoozed,
    AlertSnoozeEnded,
)
from drover.domain.event import Event, TermStarted
from drover.domain.identity.audit import AccessRecorded


class AccountCreated(Event):
    account_id: str
    email_hash: str
    """HMAC of the e-mail address, by which the account is found."""
    email_sealed: str
    role: str
    password_sealed: str
    """The argon2id hash of the password, sealed (encrypted), so that somebody who has only the log cannot test guesses
    against it."""


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


class PersonErased(Event):
    """A person was erased: the key that their e-mail address, their password hash and their network addresses are
    sealed with is destroyed."""

    user_id: str
    """The id of an account, or of a person whom another issuer signs in."""


class AccountRemoved(Event):
    """The account of an erased person left the state and the read model. Its address may be registered again, for
    another account."""

    account_id: str


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


class ApiKeyCreated(Event):
    """An API key was issued. Who issued it is in `by`."""

    key_id: str
    """The claim `jti` of the key."""
    name: str
    role: str
    expires_at: datetime
    device_id: str | None = None
    """The device that the key is bound to."""
    replaces: str | None = None
    """The id of the key that this one succeeds."""


class ApiKeyAdopted(Event):
    """A key that was issued elsewhere or earlier is accepted from now on, by its digest."""

    key_id: str
    name: str
    role: str
    digest: str
    """SHA-256 of the key."""
    expires_at: datetime
    device_id: str | None = None


class ApiKeyReplaced(Event):
    """A successor was issued. The key is revoked at `ends_at`."""

    key_id: str
    successor_id: str
    ends_at: datetime


class ApiKeyRevoked(Event):
    key_id: str
    reason: str


class ApiKeyExpired(Event):
    """A key has expired, so nobody needs to know any more whether it was revoked. It left the state; the read model
    keeps it."""

    key_id: str


class EnrolmentCreated(Event):
    """A one-time code was made, by which the agent of a PC gets keys for its phones."""

    enrolment_id: str
    pc_id: str
    digest: str
    """SHA-256 of the code."""
    devices_max: int
    valid_s: int
    """How many seconds the keys are valid that an agent gets for the code."""
    expires_at: datetime
    """When the code expires."""


class EnrolledKey(msgspec.Struct, array_like=True, frozen=True):
    """A key of one phone."""

    key_id: str
    device_id: str


class DevicesEnrolled(Event):
    """An agent used a code: each of these devices got a key."""

    enrolment_id: str
    nonce: str
    """SHA-256 of the agent's secret."""
    keys: list[EnrolledKey]
    expires_at: datetime
    """When the keys expire."""
    revoked: list[str] = msgspec.field(default_factory=list)
    """The ids of the keys that these replace: those of an earlier use of the code, and of earlier enrolments of the
    same devices."""


class EnrolmentEnded(Event):
    """A code expired or was withdrawn. Keys that agents got for it stay valid."""

    enrolment_id: str
    reason: str


IdentityEvent = (
    TermStarted
    | AccountCreated
    | PasswordChanged
    | RoleChanged
    | AccountDisabled
    | AccountEnabled
    | AccountResealed
    | PersonErased
    | AccountRemoved
    | SessionStarted
    | RefreshRotated
    | SessionEnded
    | SessionArchived
    | ApiKeyCreated
    | ApiKeyAdopted
    | ApiKeyReplaced
    | ApiKeyRevoked
    | ApiKeyExpired
    | EnrolmentCreated
    | DevicesEnrolled
    | EnrolmentEnded
    | AccessRecorded
    | AlertRaised
    | AlertResolved
    | AlertAcknowledged
    | AlertSnoozed
    | AlertSnoozeEnded
)
