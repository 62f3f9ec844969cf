"""Signs of life of phones that a PC's runner looks after: they need not beat themselves."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol

from drover.domain.fleet.state import Fleet


class Telemetry(Protocol):
    """The part of `drover.bus.telemetry.TelemetryOut` that is used here."""

    def beat(self, device_id: str, seen_at: datetime, reported: dict[str, Any] | None) -> None: ...


def hear_pc(telemetry: Telemetry, fleet: Fleet, pc_id: str, now: datetime) -> None:
    """A heartbeat, claim or report of a runner is a sign of life of all phones of its PC."""
    pc = fleet.pcs.get(pc_id)
    for device_id in () if pc is None else pc.devices:
        telemetry.beat(device_id, now, None)


def hear_pc_of(telemetry: Telemetry, fleet: Fleet, assignment_id: str, now: datetime) -> None:
    known = fleet.assignments.get(assignment_id) or fleet.ended.get(assignment_id)
    if known is not None:
        hear_pc(telemetry, fleet, fleet.devices[known.device_id].pc_id, now)
