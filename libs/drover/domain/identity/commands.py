"""Commands of identity. Edges hash, seal and make tokens beforehand: the decider sees opaque texts."""

from __future__ import annotations

from drover.domain.decider import Command, Tick


class CreateAccount(Command):
    account_id: str
    email_hash: str
    email_sealed: str
    role: str
    password_sealed: str
    also_hashes: tuple[str, ...] = ()
    """Hashes of the same address under older keys: the address counts as taken under these, too."""


class ChangePassword(Command):
    """End all sessions of the account except one."""

    account_id: str
    password_sealed: str
    keep_session_id: str | None = None
    """The session of the person who changes it."""


class ChangeRole(Command):
    """End all sessions of the account: their tokens carry the old role."""

    account_id: str
    role: str


class DisableAccount(Command):
    account_id: str


class EnableAccount(Command):
    account_id: str


class ResealAccount(Command):
    """Seal address and password with the current keys. Refused if they have changed in the meantime."""

    account_id: str
    revision: int
    email_hash: str
    email_sealed: str
    password_sealed: str


class StartSession(Command):
    """Sign a person in whose password was right."""

    session_id: str
    account_id: str
    revision: int
    """Revision of the account when the password was checked: it may have changed since."""
    digest: str
    user_agent: str
    idle_s: int
    lifetime_s: int
    sessions_max: int | None = None


class RotateRefresh(Command):
    """Use a refresh token. Edges send only tokens that they issued themselves."""

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
    """Find an account by address. Answered from live state, without events."""

    email_hashes: tuple[str, ...]


class ReadAccount(Command):
    """Answered from live state, without events."""

    account_id: str


class ListSessions(Command):
    """List the live sessions, most recently used first. Answered from live state, without events."""

    account_id: str


IdentityCommand = (
    CreateAccount
    | ChangePassword
    | ChangeRole
    | DisableAccount
    | EnableAccount
    | ResealAccount
    | StartSession
    | RotateRefresh
    | EndSession
    | EndAllSessions
    | FindAccount
    | ReadAccount
    | ListSessions
    | Tick
)
