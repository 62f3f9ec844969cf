"""How the fleet's state follows from its events: `evolve`. Only what events say, never a rule of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from drover.domain.fleet import events as e
from drover.domain.fleet import evolve_attempts, evolve_devices, evolve_jobs
from drover.domain.fleet.index import (
    settle,
)
from drover.domain.fleet.state import (
    Fleet,
)
from drover.domain.fleet.timer_keys import alert_timer


def _alert_raised(fleet: Fleet, event: e.AlertRaised) -> None:
    key = f"{event.kind}:{event.subject}"
    fleet.alerts[key] = event.alert_id
    if event.until is not None:
        fleet.timers.set(alert_timer(key), event.until)


def _alert_resolved(fleet: Fleet, event: e.AlertResolved) -> None:
    key = f"{event.kind}:{event.subject}"
    fleet.alerts.pop(key, None)
    fleet.timers.clear(alert_timer(key))


_EVOLVE: Final[dict[type, Callable[[Fleet, Any], None]]] = {
    **evolve_devices.EVOLVE,
    **evolve_jobs.EVOLVE,
    **evolve_attempts.EVOLVE,
    e.AlertRaised: _alert_raised,
    e.AlertResolved: _alert_resolved,
}


def evolve(fleet: Fleet, event: e.FleetEvent) -> Fleet:
    _EVOLVE[type(event)](fleet, event)
    if fleet.unsettled:
        settle(fleet)
    return fleet
