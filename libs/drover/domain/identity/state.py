"""State of identity's decider: accounts, live sessions, sessions that ended within the last hour, API keys until they
expire (revoked ones a day longer), and open enrolments."""

from __future__ import annotations

from datetime import datetime

import msgspec

from drover.domain.alerts import Snooze
from drover.domain.erasure import Erasures
from drover.domain.identity.policy import AccountRole, KeyRole
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


class ApiKey(msgspec.Struct):
    key_id: str
    name: str
    role: KeyRole
    expires_at: datetime
    device_id: str | None = None
    digest: str | None = None
    """SHA-256 of the key, if it was adopted. None: Drover issued the key itself."""
    successor_id: str | None = None
    """The id of the key that succeeds this one. None: it was not rotated."""
    is_revoked: bool = False


class Enrolment(msgspec.Struct):
    enrolment_id: str
    pc_id: str
    digest: str
    devices_max: int
    valid_s: int
    expires_at: datetime
    nonce: str | None = None
    """SHA-256 of the secret of the agent that used the code. None: nobody has used it yet."""
    key_ids: tuple[str, ...] = ()
    """Ids of the keys that the agent got when it last used the code."""
    uses: int = 0


class Identity(msgspec.Struct):
    accounts: dict[str, Account] = {}
    by_email: dict[str, str] = {}
    """By hash of the e-mail address, the account's id."""
    admins: int = 0
    """Number of admins that are not disabled."""
    sessions: dict[str, Session] = {}
    ended: dict[str, Ended] = {}
    alerts: dict[str, str] = {}
    snoozes: dict[str, Snooze] = {}
    timers: Timers = msgspec.field(default_factory=Timers)
    ahead_s: float = 0.0
    """Seconds by which the partition's time is ahead of the wall clock. All times in this state are wall-clock
    times."""
    api_keys: dict[str, ApiKey] = {}
    """Keys that have not expired, and revoked ones for a day more, by id."""
    revoked: dict[str, None] = {}
    """Ids of the revoked keys in `api_keys`."""
    adopted: dict[str, str] = {}
    """By digest of an adopted key in `api_keys`, its id."""
    enrolled: dict[str, str] = {}
    """By device, the id of the key that it got at its last enrolment or, if that key was rotated, the id of the
    successor. No entry if the key was revoked."""
    enrolments: dict[str, Enrolment] = {}
    by_code: dict[str, str] = {}
    """By digest of its code, the id of an enrolment."""
    erased: Erasures = {}
    """How often each person was erased, by the token of the person (`subjects.person_token`)."""
    removed: dict[str, None] = {}
    """The tokens of the people in `erased` who had an account. The ids of these accounts are never used again."""
