"""Reports callers that keep exceeding their limit of requests, so that an alert names them.

The report is a command. A process may send commands to some contexts only; the report goes to one of these.
"""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from drover.bus.messages import Bus, Rejected
from drover.domain.limited_callers import ReportLimited
from drover.eventlog.log import Partition

ACTOR: Final = "limits"
UNDER_WAY_MAX: Final = 20
"""How many reports may wait for the writer. Further callers are only logged."""

log = structlog.get_logger("drover.limits")


class LimitedCallers:
    """Reports callers to the writer of one partition. `drover.web.limits` decides when a caller is reported."""

    def __init__(self, bus: Bus, partition: Partition) -> None:
        self._bus = bus
        self._partition = partition
        self._under_way: set[asyncio.Task[None]] = set()

    def report(self, caller: str) -> None:
        log.warning("caller_limited", caller=caller)
        if len(self._under_way) >= UNDER_WAY_MAX:
            return
        task = asyncio.create_task(self._report(caller), name="report-limited")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _report(self, caller: str) -> None:
        place = self._partition
        outcome = await self._bus.send(place.context, ReportLimited(caller), by=ACTOR, partition=place.name)
        if isinstance(outcome, Rejected):
            log.warning("limited_caller_not_recorded", caller=caller, code=outcome.code)
