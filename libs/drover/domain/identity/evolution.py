"""`evolve`: applies identity's events to its state. It holds no rules of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from drover.domain import alerts
from drover.domain.erasure import note_erased
from drover.domain.event import TermStarted
from drover.domain.identity import events as e
from drover.domain.identity.audit import AccessRecorded, access_recorded
from drover.domain.identity.policy import REVOKED_KEPT, AccountRole, KeyRole
from drover.domain.identity.state import Account, ApiKey, Ended, Enrolment, Identity, Session, Spent
from drover.domain.identity.subjects import CONTEXT, person, person_token
from drover.domain.identity.timer_keys import (
    EXPIRY,
    KEY_EXPIRY,
    archiving,
    enrolment_end,
    expiry,
    key_expiry,
    key_grace,
)
from drover.domain.rules import evolve_by
from drover.domain.wall_clock import note_ahead


def _term_started(identity: Identity, event: TermStarted) -> None:
    """If the wall clock was set back, let timers fire earlier by as much. Sessions and keys still expire at their
    dates: browsers know these dates, and tokens contain them."""
    set_back = note_ahead(identity, event)
    identity.timers.bring_forward(set_back, except_kinds=(EXPIRY, KEY_EXPIRY))
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


def _erased(identity: Identity, event: e.PersonErased) -> None:
    note_erased(identity.erased, CONTEXT, person(event.user_id))


def _removed(identity: Identity, event: e.AccountRemoved) -> None:
    account = identity.accounts.pop(event.account_id)
    del identity.by_email[account.email_hash]
    identity.admins -= account.is_admin
    identity.removed[person_token(event.account_id)] = None


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


def _key_created(identity: Identity, event: e.ApiKeyCreated) -> None:
    key = ApiKey(event.key_id, event.name, KeyRole(event.role), event.expires_at, event.device_id)
    _add_key(identity, key)
    if event.replaces is not None:
        identity.api_keys[event.replaces].successor_id = event.key_id


def _key_adopted(identity: Identity, event: e.ApiKeyAdopted) -> None:
    key = ApiKey(event.key_id, event.name, KeyRole(event.role), event.expires_at, event.device_id, event.digest)
    _add_key(identity, key)
    identity.adopted[event.digest] = event.key_id


def _add_key(identity: Identity, key: ApiKey) -> None:
    identity.api_keys[key.key_id] = key
    identity.timers.set(key_expiry(key.key_id), key.expires_at)


def _key_replaced(identity: Identity, event: e.ApiKeyReplaced) -> None:
    identity.timers.set(key_grace(event.key_id), event.ends_at)


def _key_revoked(identity: Identity, event: e.ApiKeyRevoked) -> None:
    _revoke(identity, event.key_id)


def _revoke(identity: Identity, key_id: str) -> None:
    if (key := identity.api_keys.get(key_id)) is None:  # it has expired meanwhile
        return
    key.is_revoked = True
    identity.revoked[key_id] = None
    identity.timers.clear(key_grace(key_id))
    identity.timers.set(key_expiry(key_id), key.expires_at + REVOKED_KEPT)
    _forget_enrolled(identity, key)


def _forget_enrolled(identity: Identity, key: ApiKey) -> None:
    """Remove a key that has ended from `Identity.enrolled`. If it was rotated, its successor takes its place there."""
    if key.device_id is None or identity.enrolled.get(key.device_id) != key.key_id:
        return
    successor = identity.api_keys.get(key.successor_id or "")
    if successor is None or successor.is_revoked:
        del identity.enrolled[key.device_id]
    else:
        identity.enrolled[key.device_id] = successor.key_id


def _key_expired(identity: Identity, event: e.ApiKeyExpired) -> None:
    key = identity.api_keys.pop(event.key_id)
    identity.revoked.pop(key.key_id, None)
    if key.digest is not None:
        del identity.adopted[key.digest]
    identity.timers.clear(key_expiry(key.key_id))
    identity.timers.clear(key_grace(key.key_id))
    _forget_enrolled(identity, key)


def _enrolment_created(identity: Identity, event: e.EnrolmentCreated) -> None:
    identity.enrolments[event.enrolment_id] = Enrolment(
        enrolment_id=event.enrolment_id,
        pc_id=event.pc_id,
        digest=event.digest,
        devices_max=event.devices_max,
        valid_s=event.valid_s,
        expires_at=event.expires_at,
    )
    identity.by_code[event.digest] = event.enrolment_id
    identity.timers.set(enrolment_end(event.enrolment_id), event.expires_at)


def _enrolled(identity: Identity, event: e.DevicesEnrolled) -> None:
    enrolment = identity.enrolments[event.enrolment_id]
    enrolment.nonce = event.nonce
    enrolment.uses += 1
    enrolment.key_ids = tuple(key.key_id for key in event.keys)
    for key_id in event.revoked:
        _revoke(identity, key_id)
    for key in event.keys:
        _add_key(identity, ApiKey(key.key_id, enrolment.pc_id, KeyRole.DEVICE, event.expires_at, key.device_id))
        identity.enrolled[key.device_id] = key.key_id


def _enrolment_ended(identity: Identity, event: e.EnrolmentEnded) -> None:
    enrolment = identity.enrolments.pop(event.enrolment_id)
    del identity.by_code[enrolment.digest]
    identity.timers.clear(enrolment_end(event.enrolment_id))


_EVOLVE: Final[dict[type, Callable[[Identity, Any], None]]] = {
    TermStarted: _term_started,
    e.AccountCreated: _account_created,
    e.PasswordChanged: _password_changed,
    e.RoleChanged: _role_changed,
    e.AccountDisabled: _disabled,
    e.AccountEnabled: _enabled,
    e.AccountResealed: _resealed,
    e.PersonErased: _erased,
    e.AccountRemoved: _removed,
    e.SessionStarted: _started,
    e.RefreshRotated: _rotated,
    e.SessionEnded: _ended,
    e.SessionArchived: _archived,
    e.ApiKeyCreated: _key_created,
    e.ApiKeyAdopted: _key_adopted,
    e.ApiKeyReplaced: _key_replaced,
    e.ApiKeyRevoked: _key_revoked,
    e.ApiKeyExpired: _key_expired,
    e.EnrolmentCreated: _enrolment_created,
    e.DevicesEnrolled: _enrolled,
    e.EnrolmentEnded: _enrolment_ended,
    AccessRecorded: access_recorded,
    **alerts.EVOLVE,
}

evolve: Final = evolve_by(_EVOLVE)
