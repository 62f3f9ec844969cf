"""Decides about signing in, refreshing and signing out. A session is a chain of refresh tokens; only the newest is
valid."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from drover.domain.alerts import raise_alert
from drover.domain.decider import NOTHING, Decision, Rejection, accept, answer, refuse_recording, reject
from drover.domain.errors import Code
from drover.domain.event import Event
from drover.domain.identity import events as e
from drover.domain.identity.commands import EndAllSessions, EndSession, ListSessions, RotateRefresh, StartSession
from drover.domain.identity.policy import (
    ALERT_LASTS,
    ALERTS_MAX,
    ENDED_KEPT,
    ENDED_MAX,
    GRACE,
    REUSED,
    ROTATIONS_IN_GRACE_MAX,
    SESSIONS_PER_ACCOUNT_MAX,
)
from drover.domain.identity.state import Account, Identity, Session

REUSE: Final = "reuse"
"""The reason when a session is ended because a used refresh token was used again: somebody may have a copy of it."""
EXPIRED: Final = "expired"


def start_session(identity: Identity, command: StartSession, now: datetime) -> Decision:
    account = identity.accounts.get(command.account_id)
    if account is None or account.disabled or account.revision != command.revision:
        return reject(Code.CONFLICT, "The account has changed while its password was checked")
    if command.session_id in identity.sessions or command.session_id in identity.ended:
        return reject(Code.UNIQUE_VIOLATION, "There is a session with this id already")
    if len(identity.ended) >= ENDED_MAX:
        return reject(Code.RATE_LIMITED, "Too many sessions have ended within the last hour", retry_after_s=60)
    allowed = min(command.sessions_max or SESSIONS_PER_ACCOUNT_MAX, SESSIONS_PER_ACCOUNT_MAX)
    # Several sessions may have to end if the limit was higher before; at most a hundred.
    too_many = max(0, len(account.sessions) + 1 - allowed)
    ends_at = now + timedelta(seconds=command.lifetime_s)
    return accept(
        *(_end(identity.sessions[session_id], "limit", now) for session_id in [*account.sessions][:too_many]),
        e.SessionStarted(
            command.session_id,
            account.account_id,
            command.digest,
            command.user_agent,
            min(now + timedelta(seconds=command.idle_s), ends_at),
            ends_at,
        ),
    )


def rotate_refresh(identity: Identity, command: RotateRefresh, now: datetime) -> Decision:
    session = identity.sessions.get(command.session_id)
    if session is None or session.expires_at <= now:  # it may have expired without the event recorded yet
        return over(identity, command.session_id)
    if command.parent == session.digest:
        return _rotate(session, command, now)
    for spent in session.spent:
        if spent.parent == command.parent and now <= spent.until:
            return answer(rotated(session.session_id, session.account_id, spent.child, session.expires_at))
    return refuse_recording(
        reused_rejection(),
        _end(session, REUSE, now),
        *_alert_of_reuse(identity, session, now),
    )


def _alert_of_reuse(identity: Identity, session: Session, now: datetime) -> list[Event]:
    if len(identity.alerts) >= ALERTS_MAX:
        return []
    text = "A refresh token was used twice: somebody may have a copy. The session was ended."
    until = now + ALERT_LASTS
    return raise_alert(identity, REUSED, session.session_id, text, now, until=until, account_id=session.account_id)


def _rotate(session: Session, command: RotateRefresh, now: datetime) -> Decision:
    in_grace = sum(now <= spent.until for spent in session.spent)
    if in_grace >= ROTATIONS_IN_GRACE_MAX:
        return reject(Code.RATE_LIMITED, "The session was refreshed too often", retry_after_s=GRACE.total_seconds())
    expires_at = min(now + timedelta(seconds=command.idle_s), session.ends_at)
    return accept(
        e.RefreshRotated(session.session_id, session.account_id, command.parent, command.child, now + GRACE, expires_at)
    )


def rotated(session_id: str, account_id: str, child: str, expires_at: datetime) -> dict[str, Any]:
    return {"session_id": session_id, "account_id": account_id, "child": child, "expires_at": expires_at}


def reused_rejection() -> Rejection:
    return Rejection(Code.CONFLICT, "The refresh token was used before; its session is over", {"reason": REUSE})


def over(identity: Identity, session_id: str) -> Decision:
    """Refuse a command about a session that has ended, with the reason of its end if that is still known."""
    ended = identity.ended.get(session_id)
    return reject(Code.NOT_FOUND, "The session is over", reason=EXPIRED if ended is None else ended.reason)


def end_session(identity: Identity, command: EndSession, now: datetime) -> Decision:
    session = identity.sessions.get(command.session_id)
    if session is None or command.account_id not in (None, session.account_id):
        return reject(Code.NOT_FOUND, "Session not found")
    return accept(_end(session, command.reason, now))


def end_all_sessions(identity: Identity, command: EndAllSessions, now: datetime) -> Decision:
    account = identity.accounts.get(command.account_id)
    if account is None:
        return reject(Code.NOT_FOUND, "Account not found")
    events = end_all(identity, account, command.reason, now, keep=command.keep_session_id)
    return accept(*events) if events else NOTHING


def list_sessions(identity: Identity, command: ListSessions, now: datetime) -> Decision:
    account = identity.accounts.get(command.account_id)
    if account is None:
        return reject(Code.NOT_FOUND, "Account not found")
    return answer([_told(identity.sessions[session_id]) for session_id in reversed(account.sessions)])


def _told(session: Session) -> dict[str, Any]:
    return {
        "id": session.session_id,
        "user_agent": session.user_agent,
        "started_at": session.started_at,
        "last_used_at": session.last_used_at,
        "expires_at": session.expires_at,
    }


def end_all(
    identity: Identity, account: Account, reason: str, now: datetime, *, keep: str | None = None
) -> list[Event]:
    """Make the events that end all sessions of an account but `keep`: at most `SESSIONS_PER_ACCOUNT_MAX`."""
    return [_end(identity.sessions[session_id], reason, now) for session_id in account.sessions if session_id != keep]


def expire(session: Session, now: datetime) -> Event:
    return _end(session, EXPIRED, now)


def _end(session: Session, reason: str, now: datetime) -> e.SessionEnded:
    return e.SessionEnded(session.session_id, session.account_id, reason, now + ENDED_KEPT)
