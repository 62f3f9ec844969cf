"""Rules that fill each context's table of alerts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from drover.domain.alerts import AlertAcknowledged, AlertRaised, AlertResolved, AlertSnoozed, AlertSnoozeEnded
from drover.projection.projection import Tables, need
from drover.projection.rule import Rule, Rules
from drover.readmodel.alerts import ALERTS, AlertRow

_encode = msgspec.json.Encoder().encode


def _raised(tables: Tables, event: AlertRaised) -> None:
    details = _encode(event.details).decode()
    row = AlertRow(
        id=event.alert_id,
        kind=event.kind,
        subject=event.subject,
        message=event.message,
        details=details,
        raised_at=event.at,
        until=event.until,
        snoozed_until=event.snoozed_until,
    )
    tables.put(ALERTS, row)


def _resolved(tables: Tables, event: AlertResolved) -> None:
    alert = need(tables, ALERTS, event.alert_id)
    tables.put(ALERTS, replace(alert, resolved_at=event.at, reason=event.reason))


def _acknowledged(tables: Tables, event: AlertAcknowledged) -> None:
    alert = need(tables, ALERTS, event.alert_id)
    tables.put(
        ALERTS,
        replace(
            alert,
            acknowledged_at=event.at,
            acknowledged_by=event.by,
            acknowledged_note=event.note or None,
        ),
    )


def _snoozed(tables: Tables, event: AlertSnoozed) -> None:
    alert = need(tables, ALERTS, event.alert_id)
    tables.put(ALERTS, replace(alert, snoozed_until=event.until, snoozed_by=event.by, snooze_note=event.note or None))


def _snooze_ended(tables: Tables, event: AlertSnoozeEnded) -> None:
    alert = need(tables, ALERTS, event.alert_id)
    tables.put(ALERTS, replace(alert, snoozed_until=None, snoozed_by=None, snooze_note=None))


def _of_one(change: Callable[[Tables, Any], None]) -> Rule:
    """Make the rule for an event about an alert that was raised before."""
    return Rule(change, lambda e: (e.alert_id, e.subject), ((ALERTS, lambda e: e.alert_id),))


ALERT_RULES: Final[Rules] = {
    AlertRaised: Rule(_raised, lambda e: (e.alert_id, e.subject)),
    AlertResolved: _of_one(_resolved),
    AlertAcknowledged: _of_one(_acknowledged),
    AlertSnoozed: _of_one(_snoozed),
    AlertSnoozeEnded: _of_one(_snooze_ended),
}
