"""Alerts, shared by all contexts: raised once for each kind and subject, resolved when their cause is over.

A context keeps its open alerts in its state (`kind:subject` → id) and defines its own kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, Protocol

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


class AlertResolved(Event):
    alert_id: str
    kind: str
    subject: str
    reason: str


def raise_alert(
    alerts: Mapping[str, str],
    kind: str,
    subject: str,
    message: str,
    now: datetime,
    *,
    until: datetime | None = None,
    **details: Any,
) -> list[Event]:
    """Raise the alert; no events if it is already open."""
    if f"{kind}:{subject}" in alerts:
        return []
    return [AlertRaised(derived_uuid(kind, subject, now.isoformat()), kind, subject, message, details, until)]


def resolve_alert(alerts: Mapping[str, str], kind: str, subject: str, reason: str) -> list[Event]:
    """Resolve the alert; no events if it is not open."""
    alert_id = alerts.get(f"{kind}:{subject}")
    return [] if alert_id is None else [AlertResolved(alert_id, kind, subject, reason)]


def alert_timer(key: str) -> str:
    """The key in `Timers` for the time when an alert expires."""
    return f"l:{key}"


def expire_alert(alerts: Mapping[str, str], key: str) -> list[Event]:
    """Resolve the alert whose timer `alert_timer(key)` is due."""
    kind, _, subject = key.partition(":")
    return resolve_alert(alerts, kind, subject, "time")


def note_raised(alerts: dict[str, str], timers: Timers, event: AlertRaised) -> None:
    """Add a raised alert to the open alerts, and set its timer if it expires. Called by a context's `evolve`."""
    key = f"{event.kind}:{event.subject}"
    alerts[key] = event.alert_id
    if event.until is not None:
        timers.set(alert_timer(key), event.until)


def note_resolved(alerts: dict[str, str], timers: Timers, event: AlertResolved) -> None:
    """Remove a resolved alert from the open alerts, and clear its timer. Called by a context's `evolve`."""
    key = f"{event.kind}:{event.subject}"
    alerts.pop(key, None)
    timers.clear(alert_timer(key))


class KeepsAlerts(Protocol):
    """The part of a context's state that alerts need: the open alerts and the timers."""

    alerts: dict[str, str]
    timers: Timers


def _raised(state: KeepsAlerts, event: AlertRaised) -> None:
    note_raised(state.alerts, state.timers, event)


def _resolved(state: KeepsAlerts, event: AlertResolved) -> None:
    note_resolved(state.alerts, state.timers, event)


EVOLVE: Final[dict[type, Callable[[KeepsAlerts, Any], None]]] = {AlertRaised: _raised, AlertResolved: _resolved}
"""How `evolve` applies the events of alerts, by event type. Each context adds this table to its own."""
