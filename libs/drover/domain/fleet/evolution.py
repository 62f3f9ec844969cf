"""`evolve`: applies events to the fleet's state. It holds no rules of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from drover.domain import alerts
from drover.domain.fleet import events as e
from drover.domain.fleet import evolve_attempts, evolve_devices, evolve_jobs
from drover.domain.fleet.index import settle
from drover.domain.fleet.state import Fleet

_EVOLVE: Final[dict[type, Callable[[Fleet, Any], None]]] = {
    **evolve_devices.EVOLVE,
    **evolve_jobs.EVOLVE,
    **evolve_attempts.EVOLVE,
    **alerts.EVOLVE,
}


def evolve(fleet: Fleet, event: e.FleetEvent) -> Fleet:
    _EVOLVE[type(event)](fleet, event)
    if fleet.unsettled:
        settle(fleet)
    return fleet
