"""What can be asked of identity. Edges hash, seal and make tokens beforehand: the decider sees opaque texts."""

from __future__ import annotations

from drover.domain.decider import Command, Tick


class CreateAccount(Command):
    account_id: str
    email_hash: str
    email_sealed: str
    role: str
    password_sealed: str
    also_hashes: tuple[str, ...] = ()
    """The same address under keys that are on their way out: it is taken under these, too."""


class ChangePassword(Command):
    """Ends all sessions of the account but one."""

    account_id: str
    password_sealed: str
    keep_session_id: str | None = None
    """The session of whoever changes it."""


class ChangeRole(Command):
    """Ends all sessions of the account: their tokens say what it might do before."""

    account_id: str
    role: str


class DisableAccount(Command):
    account_id: str


class EnableAccount(Command):
    account_id: str


class ResealAccount(Command):
    """Put address and password under the current keys. Refused if they have changed meanwhile."""

    account_id: str
    revision: int
    email_hash: str
    email_sealed: str
    password_sealed: str


class StartSession(Command):
    """A password was right: sign its person in."""

    session_id: str
    account_id: str
    revision: int
    """Of the account whose password was checked: it may have changed since."""
    digest: str
    user_agent: str
    idle_s: int
    lifetime_s: int
    sessions_max: int | None = None


class RotateRefresh(Command):
    """A refresh token is used. Edges send only tokens that they themselves once issued."""

    session_id: str
    parent: str
    child: str
    idle_s: int


class EndSession(Command):
    session_id: str
    account_id: str | None = None
    """Whose it must be; None: anybody's."""
    reason: str = "signed_out"


class EndAllSessions(Command):
    account_id: str
    keep_session_id: str | None = None
    reason: str = "signed_out"


class FindAccount(Command):
    """By address. Answered from live state; nothing happens."""

    email_hashes: tuple[str, ...]


class ReadAccount(Command):
    """Answered from live state; nothing happens."""

    account_id: str


class ListSessions(Command):
    """Those that live, the one used last first. Answered from live state; nothing happens."""

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
