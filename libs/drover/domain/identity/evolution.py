"""`evolve`: applies identity's events to its state. It holds no rules of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from drover.domain import alerts
from drover.domain.event import TermStarted
from drover.domain.identity import events as e
from drover.domain.identity.policy import AccountRole
from drover.domain.identity.state import Account, Ended, Identity, Session, Spent
from drover.domain.identity.timer_keys import EXPIRY, archiving, expiry
from drover.domain.rules import evolve_by
from drover.domain.wall_clock import note_ahead


def _term_started(identity: Identity, event: TermStarted) -> None:
    """Follow a wall clock that was set back. A session still expires at its date: browsers know this date."""
    set_back = note_ahead(identity, event)
    identity.timers.bring_forward(set_back, except_kind=EXPIRY)
    if set_back:
        for session in identity.sessions.values():
            session.spent = [Spent(spent.parent, spent.child, spent.until - set_back) for spent in session.spent]


def _account_created(identity: Identity, event: e.AccountCreated) -> None:
    account = Account(
        account_id=event.account_id,
        email_hash=event.email_hash,
        email_sealed=event.email_sealed,
        role=AccountRole(event.role),
        password_sealed=event.password_sealed,
        created_at=event.at,
        updated_at=event.at,
    )
    identity.accounts[event.account_id] = account
    identity.by_email[event.email_hash] = event.account_id
    identity.admins += account.is_admin


def _changed(identity: Identity, event: Any) -> Account:
    account = identity.accounts[event.account_id]
    account.revision += 1
    account.updated_at = event.at
    return account


def _password_changed(identity: Identity, event: e.PasswordChanged) -> None:
    _changed(identity, event).password_sealed = event.password_sealed


def _role_changed(identity: Identity, event: e.RoleChanged) -> None:
    account = _changed(identity, event)
    before = account.is_admin
    account.role = AccountRole(event.role)
    identity.admins += account.is_admin - before


def _disabled(identity: Identity, event: e.AccountDisabled) -> None:
    account = _changed(identity, event)
    identity.admins -= account.is_admin
    account.disabled = True


def _enabled(identity: Identity, event: e.AccountEnabled) -> None:
    account = _changed(identity, event)
    account.disabled = False
    identity.admins += account.is_admin


def _resealed(identity: Identity, event: e.AccountResealed) -> None:
    account = identity.accounts[event.account_id]
    del identity.by_email[account.email_hash]
    identity.by_email[event.email_hash] = event.account_id
    account.email_hash = event.email_hash
    account.email_sealed = event.email_sealed
    account.password_sealed = event.password_sealed


def _started(identity: Identity, event: e.SessionStarted) -> None:
    session_id, account = event.session_id, identity.accounts[event.account_id]
    identity.sessions[session_id] = Session(
        session_id=session_id,
        account_id=event.account_id,
        digest=event.digest,
        user_agent=event.user_agent,
        started_at=event.at,
        last_used_at=event.at,
        expires_at=event.expires_at,
        ends_at=event.ends_at,
    )
    account.sessions[session_id] = None
    account.last_sign_in_at = event.at
    identity.timers.set(expiry(session_id), event.expires_at)


def _rotated(identity: Identity, event: e.RefreshRotated) -> None:
    session = identity.sessions[event.session_id]
    session.digest = event.child
    session.last_used_at = event.at
    session.expires_at = event.expires_at
    session.spent = [spent for spent in session.spent if spent.until >= event.at]
    session.spent.append(Spent(event.parent, event.child, event.grace_until))
    used = identity.accounts[event.account_id].sessions
    del used[event.session_id]
    used[event.session_id] = None
    identity.timers.set(expiry(event.session_id), event.expires_at)


def _ended(identity: Identity, event: e.SessionEnded) -> None:
    session_id = event.session_id
    del identity.sessions[session_id]
    del identity.accounts[event.account_id].sessions[session_id]
    identity.ended[session_id] = Ended(event.account_id, event.reason)
    identity.timers.clear(expiry(session_id))
    identity.timers.set(archiving(session_id), event.kept_until)


def _archived(identity: Identity, event: e.SessionArchived) -> None:
    identity.ended.pop(event.session_id, None)
    identity.timers.clear(archiving(event.session_id))


_EVOLVE: Final[dict[type, Callable[[Identity, Any], None]]] = {
    TermStarted: _term_started,
    e.AccountCreated: _account_created,
    e.PasswordChanged: _password_changed,
    e.RoleChanged: _role_changed,
    e.AccountDisabled: _disabled,
    e.AccountEnabled: _enabled,
    e.AccountResealed: _resealed,
    e.SessionStarted: _started,
    e.RefreshRotated: _rotated,
    e.SessionEnded: _ended,
    e.SessionArchived: _archived,
    **alerts.EVOLVE,
}

evolve: Final = evolve_by(_EVOLVE)
