"""Alerts of the fleet: raised once for each kind and subject, resolved when what they are about is over."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from drover.domain.event import Event
from drover.domain.fleet.events import AlertRaised, AlertResolved
from drover.domain.fleet.ids import derived_uuid
from drover.domain.fleet.state import Fleet

POISON_JOB: Final = "poison_job"
HOST_FAILING: Final = "host_failing"
OFFERS_UNTAKEN: Final = "offers_untaken"
RATE_LIMITED: Final = "rate_limited"


def raise_alert(
    fleet: Fleet,
    kind: str,
    subject: str,
    message: str,
    now: datetime,
    *,
    until: datetime | None = None,
    **details: Any,
) -> list[Event]:
    """Nothing, if it is open already."""
    if f"{kind}:{subject}" in fleet.alerts:
        return []
    return [AlertRaised(derived_uuid(kind, subject, now.isoformat()), kind, subject, message, details, until)]


def resolve_alert(fleet: Fleet, kind: str, subject: str, reason: str) -> list[Event]:
    """Nothing, if there is none."""
    alert_id = fleet.alerts.get(f"{kind}:{subject}") if fleet.alerts else None
    return [] if alert_id is None else [AlertResolved(alert_id, kind, subject, reason)]
