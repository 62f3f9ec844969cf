"""Identity's read model: accounts and sessions. No plain-text address, no password, no token. `tables.sql` is
generated from it."""

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
    """The sealed e-mail address. Code that has the keys opens it."""


class SessionRow(Row, frozen=True):
    id: UUID
    account_id: UUID
    user_agent: str
    started_at: datetime
    last_used_at: datetime
    expires_at: datetime
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

IDENTITY: Final = ReadModel(
    context="identity",
    own_tables=(ACCOUNTS, SESSIONS),
    relations=(
        _identity("accounts", Account, view=View("account_rows", "a"), embeds=(many("sessions", "account_id"),)),
        _identity("sessions", SessionRow, view=View("session_rows", "s"), embeds=(one("accounts", "account_id"),)),
    ),
    rules=3,
)
