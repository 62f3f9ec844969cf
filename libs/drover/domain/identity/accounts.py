"""Accounts and their roles. Signing in is in `sessions`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from drover.domain.decider import NOTHING, Decision, accept, answer, reject
from drover.domain.errors import Code
from drover.domain.identity import events as e
from drover.domain.identity.commands import (
    ChangePassword,
    ChangeRole,
    CreateAccount,
    DisableAccount,
    EnableAccount,
    FindAccount,
    ReadAccount,
    ResealAccount,
)
from drover.domain.identity.policy import ACCOUNTS_MAX
from drover.domain.identity.sessions import end_all
from drover.domain.identity.state import Account, Identity


def create_account(identity: Identity, command: CreateAccount, now: datetime) -> Decision:
    if command.account_id in identity.accounts:
        return reject(Code.UNIQUE_VIOLATION, "There is an account with this id already")
    for hashed in (command.email_hash, *command.also_hashes):
        if hashed in identity.by_email:
            return reject(Code.UNIQUE_VIOLATION, "There is an account with this e-mail address already")
    if len(identity.accounts) >= ACCOUNTS_MAX:
        message = f"There are {ACCOUNTS_MAX} accounts, which is the maximum"
        return reject(Code.CONFLICT, message, accounts_max=ACCOUNTS_MAX)
    return accept(
        e.AccountCreated(
            command.account_id, command.email_hash, command.email_sealed, command.role, command.password_sealed
        )
    )


def change_password(identity: Identity, command: ChangePassword, now: datetime) -> Decision:
    account = identity.accounts.get(command.account_id)
    if account is None:
        return no_account()
    return accept(
        e.PasswordChanged(account.account_id, command.password_sealed),
        *end_all(identity, account, "password_changed", now, keep=command.keep_session_id),
    )


def change_role(identity: Identity, command: ChangeRole, now: datetime) -> Decision:
    account = identity.accounts.get(command.account_id)
    if account is None:
        return no_account()
    if account.role == command.role:
        return NOTHING
    if is_last_admin(identity, account):
        return last_admin()
    return accept(e.RoleChanged(account.account_id, command.role), *end_all(identity, account, "role_changed", now))


def disable_account(identity: Identity, command: DisableAccount, now: datetime) -> Decision:
    account = identity.accounts.get(command.account_id)
    if account is None:
        return no_account()
    if account.disabled:
        return NOTHING
    if is_last_admin(identity, account):
        return last_admin()
    return accept(e.AccountDisabled(account.account_id), *end_all(identity, account, "disabled", now))


def enable_account(identity: Identity, command: EnableAccount, now: datetime) -> Decision:
    account = identity.accounts.get(command.account_id)
    if account is None:
        return no_account()
    return accept(e.AccountEnabled(account.account_id)) if account.disabled else NOTHING


def reseal_account(identity: Identity, command: ResealAccount, now: datetime) -> Decision:
    account = identity.accounts.get(command.account_id)
    if account is None:
        return no_account()
    if account.revision != command.revision:
        return reject(Code.CONFLICT, "The account has changed in the meantime; read it again")
    taken = identity.by_email.get(command.email_hash, account.account_id)
    if taken != account.account_id:
        return reject(Code.UNIQUE_VIOLATION, "There is an account with this e-mail address already")
    return accept(
        e.AccountResealed(account.account_id, command.email_hash, command.email_sealed, command.password_sealed)
    )


def find_account(identity: Identity, command: FindAccount, now: datetime) -> Decision:
    for hashed in command.email_hashes:
        account_id = identity.by_email.get(hashed)
        if account_id is not None:
            return answer(told(identity.accounts[account_id]))
    return no_account()


def read_account(identity: Identity, command: ReadAccount, now: datetime) -> Decision:
    account = identity.accounts.get(command.account_id)
    return no_account() if account is None else answer(told(account))


def told(account: Account) -> dict[str, Any]:
    """Return the account for an HTTP service, which has the keys to open its sealed fields."""
    return {
        "account_id": account.account_id,
        "email_hash": account.email_hash,
        "email_sealed": account.email_sealed,
        "role": account.role,
        "password_sealed": account.password_sealed,
        "revision": account.revision,
        "disabled": account.disabled,
        "created_at": account.created_at,
        "updated_at": account.updated_at,
        "last_sign_in_at": account.last_sign_in_at,
    }


def no_account() -> Decision:
    return reject(Code.NOT_FOUND, "Account not found")


def is_last_admin(identity: Identity, account: Account) -> bool:
    return account.is_admin and identity.admins == 1


def last_admin() -> Decision:
    """Refuse to disable, demote or erase the last admin: without an admin nobody could undo the change."""
    return reject(Code.CONFLICT, "This is the last admin: make somebody else one first")
