"""Commands of identity. HTTP services hash, seal and make tokens beforehand: the decider sees only opaque texts."""

from __future__ import annotations

from datetime import datetime

from drover.domain.alert_handling import AlertCommand
from drover.domain.decider import Command, Tick
from drover.domain.identity.audit import RecordAccess
from drover.domain.identity.events import EnrolledKey
from drover.domain.limited_callers import ReportLimited


class CreateAccount(Command):
    account_id: str
    email_hash: str
    email_sealed: str
    role: str
    password_sealed: str
    also_hashes: tuple[str, ...] = ()
    """Hashes of the same e-mail address that were made with older secrets. The command is refused if another account
    has one of them."""


class ChangePassword(Command):
    """Set a new password, and end all sessions of the account except `keep_session_id`."""

    account_id: str
    password_sealed: str
    keep_session_id: str | None = None
    """The session of the person who changes the password. It stays open. None: all sessions of the account end."""


class ChangeRole(Command):
    """Set a new role, and end all sessions of the account: their tokens carry the old role."""

    account_id: str
    role: str


class DisableAccount(Command):
    account_id: str


class EnableAccount(Command):
    account_id: str


class ResealAccount(Command):
    """Seal (encrypt) the address and the password hash of an account anew, with the current keys; the values stay the
    same. Refused if the account no longer has this `revision`."""

    account_id: str
    revision: int
    email_hash: str
    email_sealed: str
    password_sealed: str


class ErasePerson(Command):
    """Erase a person: afterwards nobody can read the e-mail address, the password hash and the network addresses that
    the log has of them. Their account, if they have one, is removed. The key that their data is sealed with is
    destroyed after this command."""

    user_id: str
    """The id of the account, or the id of a person whom another issuer signs in."""


class StartSession(Command):
    """Start a session for a person whose password was right."""

    session_id: str
    account_id: str
    revision: int
    """The account's `revision` when the password was checked. If it has changed since, the command is refused."""
    digest: str
    user_agent: str
    idle_s: int
    lifetime_s: int
    sessions_max: int | None = None


class RotateRefresh(Command):
    """Replace a used refresh token by a new one. HTTP services send only tokens that they have issued themselves."""

    session_id: str
    parent: str
    child: str
    idle_s: int


class EndSession(Command):
    session_id: str
    account_id: str | None = None
    """The account that the session must belong to. None: any account."""
    reason: str = "signed_out"


class EndAllSessions(Command):
    account_id: str
    keep_session_id: str | None = None
    reason: str = "signed_out"


class FindAccount(Command):
    """Find an account by the hashes of its address. Answered from the decider's state, without events."""

    email_hashes: tuple[str, ...]


class ReadAccount(Command):
    """Read an account by its id. Answered from the decider's state, without events."""

    account_id: str


class ListSessions(Command):
    """List an account's open sessions, most recently used first. Answered from the decider's state, without events."""

    account_id: str


class CreateApiKey(Command):
    """Record a new API key. The sender of this command then makes and signs the key itself, from the values in the
    answer."""

    key_id: str
    name: str
    key_role: str
    valid_s: int
    device_id: str | None = None
    """The device that a key of the role `device` is bound to."""


class AdoptApiKey(Command):
    """Record a key that exists already, such as one that is signed with a shared secret. It then works on every
    process, is listed, and can be revoked. A key that was adopted before gets the same answer again."""

    key_id: str
    name: str
    key_role: str
    digest: str
    """SHA-256 of the key."""
    expires_at: datetime
    device_id: str | None = None


class RotateApiKey(Command):
    """Make a successor with the same name, role and device, and revoke the key after `grace_s` seconds."""

    key_id: str
    successor_id: str
    valid_s: int
    grace_s: int


class RevokeApiKey(Command):
    key_id: str


class CreateEnrolment(Command):
    """Record a one-time code, by which the agent of a PC gets keys for its phones."""

    enrolment_id: str
    pc_id: str
    digest: str
    """SHA-256 of the code."""
    devices_max: int
    valid_s: int
    """How many seconds the keys are valid that an agent gets for the code."""
    lifetime_s: int
    """How many seconds the code can be used."""


class ReadEnrolment(Command):
    """Check a code before its phones are registered. Answered from the decider's state, without events."""

    digest: str
    nonce: str


class EnrolDevices(Command):
    """Use a code: record one key for each device. If the answer was lost, the same agent may use the code again, which
    revokes the keys of the earlier use."""

    digest: str
    nonce: str
    """SHA-256 of a secret of the agent. After the first use, the code works with this secret only."""
    keys: list[EnrolledKey]


class EndEnrolment(Command):
    """Withdraw a code. Keys that it has given out stay valid."""

    enrolment_id: str


IdentityCommand = (
    CreateAccount
    | ChangePassword
    | ChangeRole
    | DisableAccount
    | EnableAccount
    | ResealAccount
    | ErasePerson
    | StartSession
    | RotateRefresh
    | EndSession
    | EndAllSessions
    | FindAccount
    | ReadAccount
    | ListSessions
    | CreateApiKey
    | AdoptApiKey
    | RotateApiKey
    | RevokeApiKey
    | CreateEnrolment
    | ReadEnrolment
    | EnrolDevices
    | EndEnrolment
    | RecordAccess
    | ReportLimited
    | AlertCommand
    | Tick
)
