"""Rules that fill each context's table of alerts."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import replace

from drover.domain.alerts import AlertRaised, AlertResolved
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
    )
    tables.put(ALERTS, row)


def _resolved(tables: Tables, event: AlertResolved) -> None:
    alert = need(tables, ALERTS, event.alert_id)
    tables.put(ALERTS, replace(alert, resolved_at=event.at, reason=event.reason))


ALERT_RULES: Final[Rules] = {
    AlertRaised: Rule(_raised, lambda e: (e.alert_id, e.subject)),
    AlertResolved: Rule(_resolved, lambda e: (e.alert_id, e.subject), ((ALERTS, lambda e: e.alert_id),)),
}
