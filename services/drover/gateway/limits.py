"""How often a device may ask: 429 beyond it, and an alert when it does not listen. Counting is in `web.ratelimit`."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from typing import Final

import structlog

from drover.bus.messages import Rejected
from drover.domain.fleet.commands import ReportThrottled
from drover.gateway.commanding import CONTEXT, Bus
from drover.web.ratelimit import Limiter, Refused, too_many

VITAL_FACTOR: Final = 4
"""The bucket of heartbeats and final reports is this much larger than the one of all else."""
NEVER: Final = sys.maxsize
ACTOR: Final = "gateway"

log = structlog.get_logger("drover.gateway")


class DeviceLimits:
    """Two buckets for each device, and a stop for the first: throttling must not kill work."""

    def __init__(self, bus: Bus, *, per_s: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._bus = bus
        self._asking = Limiter(per_s, burst, clock=clock)
        self._vital = Limiter(per_s * VITAL_FACTOR, burst * VITAL_FACTOR, clock=clock, stop_after=NEVER)
        self._telling: set[asyncio.Task[None]] = set()
        """At most one for each device, every five minutes."""

    def check(self, device_id: str) -> None:
        """Before a poll or a report of progress; three refusals in a row stop these for a while."""
        verdict = self._asking.check(device_id)
        if isinstance(verdict, Refused):
            if verdict.first_stop:
                self._tell(device_id)
            raise too_many(verdict.retry_after_s)

    def check_vital(self, device_id: str) -> None:
        """Before a heartbeat or a final report. They are never stopped."""
        verdict = self._vital.check(device_id)
        if isinstance(verdict, Refused):
            raise too_many(verdict.retry_after_s)

    def _tell(self, device_id: str) -> None:
        log.warning("device_stopped", device_id=device_id)
        task = asyncio.create_task(self._report(device_id), name="report-throttled")
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _report(self, device_id: str) -> None:
        outcome = await self._bus.send(CONTEXT, ReportThrottled(device_id), by=ACTOR)
        if isinstance(outcome, Rejected):
            log.warning("device_stop_not_recorded", device_id=device_id, code=outcome.code)
