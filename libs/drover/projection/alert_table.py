"""The tables of alerts that every context has: what needs a person, and whether it still does."""

from __future__ import annotations

from datetime import datetime
from importlib.resources import files
from typing import Final

import msgspec
from msgspec.structs import replace

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.projection.projection import KeyedTable, Tables, need
from drover.projection.rule import Rule, Rules

_encode = msgspec.json.Encoder().encode


class AlertRow(msgspec.Struct, frozen=True, gc=False):
    id: str
    kind: str
    subject: str
    message: str
    details: str
    """JSON."""
    raised_at: datetime
    until: datetime | None
    """When it is over by itself."""
    resolved_at: datetime | None = None
    reason: str | None = None
    """Why it is over."""


ALERTS: Final = KeyedTable(
    name="alert_rows",
    row=AlertRow,
    types={
        "id": "text",
        "kind": "text",
        "subject": "text",
        "message": "text",
        "details": "jsonb",
        "raised_at": "timestamptz",
        "until": "timestamptz",
        "resolved_at": "timestamptz",
        "reason": "text",
    },
    key=("id",),
)
ALERTS_DDL: Final = (files("drover.projection") / "alert_table.sql").read_text(encoding="utf-8")


def _raised(tables: Tables, event: AlertRaised) -> None:
    details = _encode(event.details).decode()
    row = AlertRow(event.alert_id, event.kind, event.subject, event.message, details, event.at, event.until)
    tables.put(ALERTS, row)


def _resolved(tables: Tables, event: AlertResolved) -> None:
    alert = need(tables, ALERTS, event.alert_id)
    tables.put(ALERTS, replace(alert, resolved_at=event.at, reason=event.reason))


ALERT_RULES: Final[Rules] = {
    AlertRaised: Rule(_raised, lambda e: (e.alert_id, e.subject)),
    AlertResolved: Rule(_resolved, lambda e: (e.alert_id, e.subject), ((ALERTS, lambda e: e.alert_id),)),
}
