"""Alerts, shared by all contexts: raised once for each kind and subject, resolved when their cause is over.

A context keeps its open alerts in its state and defines its own kinds. Beside them it keeps what people have snoozed: a
snooze outlasts the alert, so that one that is raised again and again stays quiet.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, Protocol

import msgspec

from drover.domain.event import Event
from drover.domain.ids import derived_uuid
from drover.domain.timers import Timers


class AlertRaised(Event):
    alert_id: str
    kind: str
    subject: str
    """Id of the thing that the alert is about."""
    message: str
    details: dict[str, Any]
    until: datetime | None = None
    """When the alert expires. None: it is resolved when its cause is over."""
    snoozed_until: datetime | None = None
    """Until when a person has snoozed alerts of this kind about this subject. None: nobody has."""


class AlertResolved(Event):
    alert_id: str
    kind: str
    subject: str
    reason: str


class AlertAcknowledged(Event):
    """A person (`by`) takes care of the alert, or knows about it."""

    alert_id: str
    kind: str
    subject: str
    note: str = ""


class AlertSnoozed(Event):
    """A person (`by`) wants to hear nothing of this kind about this subject until then."""

    alert_id: str
    kind: str
    subject: str
    until: datetime
    note: str = ""


class AlertSnoozeEnded(Event):
    alert_id: str
    """The alert of this kind and subject that is open, or else the one that was snoozed."""
    kind: str
    subject: str
    reason: str
    """`time`, or `person`: somebody ended it before."""
    is_open: bool
    """Whether there still is such an alert."""


class Snooze(msgspec.Struct, frozen=True):
    """Alerts of one kind about one subject cause no notices until then."""

    until: datetime
    alert_id: str
    """The alert that was open when a person snoozed it."""


class KeepsAlerts(Protocol):
    """The part of a context's state that alerts need."""

    alerts: dict[str, str]
    """The ids of the open alerts, by `key_of`."""
    snoozes: dict[str, Snooze]
    """What people have snoozed, by `key_of`."""
    timers: Timers


def key_of(kind: str, subject: str) -> str:
    return f"{kind}:{subject}"


def raise_alert(
    state: KeepsAlerts,
    kind: str,
    subject: str,
    message: str,
    now: datetime,
    *,
    until: datetime | None = None,
    **details: Any,
) -> list[Event]:
    """Raise the alert; no events if it is already open."""
    key = key_of(kind, subject)
    if key in state.alerts:
        return []
    snooze = state.snoozes.get(key)
    return [
        AlertRaised(
            alert_id=derived_uuid(kind, subject, now.isoformat()),
            kind=kind,
            subject=subject,
            message=message,
            details=details,
            until=until,
            snoozed_until=snooze.until if snooze is not None and snooze.until > now else None,
        )
    ]


def resolve_alert(state: KeepsAlerts, kind: str, subject: str, reason: str) -> list[Event]:
    """Resolve the alert; no events if it is not open."""
    alert_id = state.alerts.get(key_of(kind, subject))
    return [] if alert_id is None else [AlertResolved(alert_id, kind, subject, reason)]


_SNOOZED: Final = "~"
"""Marks the timer of a snooze. No kind of alert begins with it."""


def alert_timer(key: str) -> str:
    """The key in `Timers` for the time when an alert expires, or, with a mark, when a snooze ends."""
    return f"l:{key}"


def _snooze_timer(key: str) -> str:
    return alert_timer(f"{_SNOOZED}{key}")


def expire_alert(state: KeepsAlerts, timed: str) -> list[Event]:
    """Resolve the alert whose timer `alert_timer(timed)` is due, or end the snooze."""
    kind, _, subject = timed.removeprefix(_SNOOZED).partition(":")
    if timed.startswith(_SNOOZED):
        return end_snooze(state, kind, subject, "time")
    return resolve_alert(state, kind, subject, "time")


def end_snooze(state: KeepsAlerts, kind: str, subject: str, reason: str) -> list[Event]:
    """End a snooze; no events if there is none."""
    key = key_of(kind, subject)
    snooze = state.snoozes.get(key)
    if snooze is None:
        return []
    now_open = state.alerts.get(key)
    return [AlertSnoozeEnded(now_open or snooze.alert_id, kind, subject, reason, is_open=now_open is not None)]


def _raised(state: KeepsAlerts, event: AlertRaised) -> None:
    key = key_of(event.kind, event.subject)
    state.alerts[key] = event.alert_id
    if event.until is not None:
        state.timers.set(alert_timer(key), event.until)


def _resolved(state: KeepsAlerts, event: AlertResolved) -> None:
    key = key_of(event.kind, event.subject)
    state.alerts.pop(key, None)
    state.timers.clear(alert_timer(key))


def _acknowledged(state: KeepsAlerts, event: AlertAcknowledged) -> None:
    """Change nothing: no rule depends on it."""


def _snoozed(state: KeepsAlerts, event: AlertSnoozed) -> None:
    key = key_of(event.kind, event.subject)
    state.snoozes[key] = Snooze(event.until, event.alert_id)
    state.timers.set(_snooze_timer(key), event.until)


def _snooze_ended(state: KeepsAlerts, event: AlertSnoozeEnded) -> None:
    key = key_of(event.kind, event.subject)
    state.snoozes.pop(key, None)
    state.timers.clear(_snooze_timer(key))


HANDLED: Final[dict[type, Callable[[KeepsAlerts, Any], None]]] = {
    AlertAcknowledged: _acknowledged,
    AlertSnoozed: _snoozed,
    AlertSnoozeEnded: _snooze_ended,
}
"""How `evolve` applies what people do about alerts."""
EVOLVE: Final[dict[type, Callable[[KeepsAlerts, Any], None]]] = {
    AlertRaised: _raised,
    AlertResolved: _resolved,
    **HANDLED,
}
"""How `evolve` applies the events of alerts, by event type. Each context adds this table to its own."""
