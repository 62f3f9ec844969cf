"""Identity's read model: accounts, sessions, API keys and enrolments. No plain-text address, no password, no token, no
code. `tables.sql` is generated from it."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

from drover.readmodel.model import ReadModel
from drover.readmodel.relation import View, many, one, relation
from drover.readmodel.row import Row
from drover.readmodel.table import Index, KeyedTable

_identity = partial(relation, "identity")


class Account(Row, frozen=True):
    """An account as admins see it, without its address."""

    id: UUID
    role: str
    disabled: bool
    created_at: datetime
    updated_at: datetime
    last_sign_in_at: datetime | None


class AccountRow(Account, frozen=True):
    email_sealed: str
    """The sealed (encrypted) e-mail address. Only code that has the keys can open it."""


class AccessRow(Row, frozen=True):
    """A line of the audit: somebody read something sensitive, signed in, or changed something."""

    id: UUID
    at: datetime
    by: str
    kind: str
    what: str
    user_agent: str
    address_sealed: str | None
    """The sealed (encrypted) IP address. Only code that has the keys can open it."""
    trace: str | None
    """W3C traceparent. The events of a change have the same trace."""


class SessionRow(Row, frozen=True):
    id: UUID
    account_id: UUID
    user_agent: str
    started_at: datetime
    last_used_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None
    reason: str | None = None


class ApiKeyRow(Row, frozen=True):
    id: UUID
    name: str
    role: str
    created_at: datetime
    created_by: str
    expires_at: datetime
    adopted: bool
    """Whether the key was issued elsewhere and is accepted by its digest."""
    device_id: UUID | None = None
    enrolment_id: UUID | None = None
    replaces: UUID | None = None
    """The key that this one succeeds."""
    successor_id: UUID | None = None
    ends_at: datetime | None = None
    """When a rotated key is revoked."""


class ApiKeyEndRow(Row, frozen=True):
    """The end of a key that was revoked. A table of its own, because one enrolment can end hundreds of keys, and the
    fold then need not read their rows."""

    id: UUID
    revoked_at: datetime
    reason: str


class EnrolmentRow(Row, frozen=True):
    id: UUID
    pc_id: str
    devices_max: int
    created_at: datetime
    created_by: str
    expires_at: datetime
    devices: int = 0
    """How many devices got a key at its last use."""
    used_at: datetime | None = None
    ended_at: datetime | None = None
    reason: str | None = None


ACCOUNTS: Final = KeyedTable(
    name="account_rows",
    row=AccountRow,
    key=("id",),
    indices=(Index("account_rows_created_at", "created_at, id"),),
)
SESSIONS: Final = KeyedTable(
    name="session_rows",
    row=SessionRow,
    key=("id",),
    fillfactor=80,
    indices=(Index("session_rows_account_id", "account_id"),),
)
ACCESSES: Final = KeyedTable(
    name="access_rows",
    row=AccessRow,
    key=("id",),
    indices=(
        Index("access_rows_at", "at, id"),
        Index("access_rows_by", "by, at, id"),
        Index("access_rows_kind", "kind, at, id"),
    ),
)
API_KEYS: Final = KeyedTable(
    name="api_key_rows",
    row=ApiKeyRow,
    key=("id",),
    indices=(Index("api_key_rows_created_at", "created_at, id"),),
)
API_KEY_ENDS: Final = KeyedTable(name="api_key_end_rows", row=ApiKeyEndRow, key=("id",))
ENROLMENTS: Final = KeyedTable(
    name="enrolment_rows",
    row=EnrolmentRow,
    key=("id",),
    indices=(Index("enrolment_rows_created_at", "created_at, id"),),
)

IDENTITY: Final = ReadModel(
    context="identity",
    own_tables=(ACCOUNTS, SESSIONS, ACCESSES, API_KEYS, API_KEY_ENDS, ENROLMENTS),
    relations=(
        _identity("accounts", Account, view=View("account_rows", "a"), embeds=(many("sessions", "account_id"),)),
        _identity("sessions", SessionRow, view=View("session_rows", "s"), embeds=(one("accounts", "account_id"),)),
    ),
    rules=3,
)
