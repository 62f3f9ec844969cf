"""Records signs of life of phones when the runner of their PC sends a request. Such phones need not send heartbeats
themselves."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Protocol

from drover.domain.fleet.state import Fleet


class Telemetry(Protocol):
    """The part of `drover.bus.telemetry.TelemetryOut` that is used here."""

    def beat(self, device_id: str, seen_at: datetime, reported: dict[str, Any] | None) -> None: ...


def hear_pc(telemetry: Telemetry, fleet: Fleet, pc_id: str, now: datetime) -> None:
    """Record a sign of life of every phone of a PC, because its runner sent a heartbeat, a claim or a report."""
    pc = fleet.pcs.get(pc_id)
    for device_id in () if pc is None else pc.devices:
        telemetry.beat(device_id, now, None)


def hear_pcs_of(telemetry: Telemetry, fleet: Fleet, assignment_ids: Iterable[str], now: datetime) -> None:
    """Call `hear_pc` for the PCs of these assignments, once for each PC."""
    known = (fleet.assignments.get(id_) or fleet.ended.get(id_) for id_ in assignment_ids)
    for pc_id in {fleet.devices[one.device_id].pc_id for one in known if one is not None}:
        hear_pc(telemetry, fleet, pc_id, now)
