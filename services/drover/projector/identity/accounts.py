"""Rows of accounts."""

from __future__ import annotations

from typing import Any, Final

from drover.domain.identity.events import (
    AccountCreated,
    AccountDisabled,
    AccountEnabled,
    AccountRemoved,
    AccountResealed,
    PasswordChanged,
    PersonErased,
    RoleChanged,
)
from drover.postgres.types import uuid_of
from drover.projection.projection import Tables, change
from drover.projection.rule import Rule, Rules, change_no_row
from drover.readmodel.identity import ACCOUNTS, AccountRow


def change_account(tables: Tables, account_id: str, **changes: Any) -> None:
    change(tables, ACCOUNTS, uuid_of(account_id), **changes)


def _created(tables: Tables, event: AccountCreated) -> None:
    row = AccountRow(
        id=uuid_of(event.account_id),
        role=event.role,
        disabled=False,
        created_at=event.at,
        updated_at=event.at,
        last_sign_in_at=None,
        email_sealed=event.email_sealed,
    )
    tables.put(ACCOUNTS, row)


def _password_changed(tables: Tables, event: PasswordChanged) -> None:
    change_account(tables, event.account_id, updated_at=event.at)


def _role_changed(tables: Tables, event: RoleChanged) -> None:
    change_account(tables, event.account_id, role=event.role, updated_at=event.at)


def _disabled(tables: Tables, event: AccountDisabled) -> None:
    change_account(tables, event.account_id, disabled=True, updated_at=event.at)


def _enabled(tables: Tables, event: AccountEnabled) -> None:
    change_account(tables, event.account_id, disabled=False, updated_at=event.at)


def _resealed(tables: Tables, event: AccountResealed) -> None:
    change_account(tables, event.account_id, email_sealed=event.email_sealed)


def _removed(tables: Tables, event: AccountRemoved) -> None:
    tables.delete(ACCOUNTS, uuid_of(event.account_id))


_OWN = ((ACCOUNTS, lambda e: uuid_of(e.account_id)),)


def _entities(event: Any) -> tuple[str, ...]:
    return (event.account_id,)


ACCOUNT_RULES: Final[Rules] = {
    AccountCreated: Rule(_created, _entities),
    PasswordChanged: Rule(_password_changed, _entities, _OWN),
    RoleChanged: Rule(_role_changed, _entities, _OWN),
    AccountDisabled: Rule(_disabled, _entities, _OWN),
    AccountEnabled: Rule(_enabled, _entities, _OWN),
    AccountResealed: Rule(_resealed, _entities, _OWN),
    PersonErased: Rule(change_no_row, lambda event: (event.user_id,)),
    AccountRemoved: Rule(_removed, _entities),
}
