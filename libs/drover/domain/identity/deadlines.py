"""What happens at the deadlines of identity: sessions, API keys, codes and alerts expire, ended sessions are archived,
rotated keys are revoked."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from drover.domain.alerts import expire_alert
from drover.domain.decider import NOTHING, Decision, Tick, accept
from drover.domain.event import Event
from drover.domain.identity.api_keys import ROTATED
from drover.domain.identity.enrolments import EXPIRED
from drover.domain.identity.events import ApiKeyExpired, ApiKeyRevoked, EnrolmentEnded, SessionArchived
from drover.domain.identity.policy import FIRED_AT_ONCE_MAX
from drover.domain.identity.sessions import expire
from drover.domain.identity.state import Identity
from drover.domain.identity.timer_keys import ARCHIVING, ENROLMENT, EXPIRY, KEY_EXPIRY, KEY_GRACE


def next_deadline(identity: Identity) -> datetime | None:
    return identity.timers.first_at()


def tick(identity: Identity, command: Tick, now: datetime) -> Decision:
    """Fire the deadlines that have passed, one after the other, each on the state after the one before."""
    return _fire(identity, now, left=FIRED_AT_ONCE_MAX)


def _fire(identity: Identity, now: datetime, *, left: int) -> Decision:
    overdue = identity.timers.overdue(now)
    if overdue is None or not left:
        return NOTHING
    return accept(*_due(identity, *overdue, now), then=partial(_fire, left=left - 1))


def _due(identity: Identity, kind: str, subject: str, now: datetime) -> list[Event]:
    if kind == EXPIRY:
        return [expire(identity.sessions[subject], now)]
    if kind == ARCHIVING:
        return [SessionArchived(subject)]
    if kind == KEY_EXPIRY:
        return [ApiKeyExpired(subject)]
    if kind == KEY_GRACE:
        return [ApiKeyRevoked(subject, ROTATED)]
    if kind == ENROLMENT:
        return [EnrolmentEnded(subject, EXPIRED)]
    return expire_alert(identity, subject)
