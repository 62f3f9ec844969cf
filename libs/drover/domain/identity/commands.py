"""Commands of identity. HTTP services hash, seal and make tokens beforehand: the decider sees only opaque texts."""

from __future__ import annotations

from drover.domain.decider import Command, Tick


class CreateAccount(Command):
    account_id: str
    email_hash: str
    email_sealed: str
    role: str
    password_sealed: str
    also_hashes: tuple[str, ...] = ()
    """Hashes of the same address under older keys. The command is refused if another account has one of them."""


class ChangePassword(Command):
    """Set a new password, and end all sessions of the account except `keep_session_id`."""

    account_id: str
    password_sealed: str
    keep_session_id: str | None = None
    """The session of the person who changes the password."""


class ChangeRole(Command):
    """Set a new role, and end all sessions of the account: their tokens carry the old role."""

    account_id: str
    role: str


class DisableAccount(Command):
    account_id: str


class EnableAccount(Command):
    account_id: str


class ResealAccount(Command):
    """Replace the sealed address and password by the same values, sealed with the current keys. Refused if the account
    no longer has this `revision`."""

    account_id: str
    revision: int
    email_hash: str
    email_sealed: str
    password_sealed: str


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
