"""Limits the request rate of devices: answers 429 above it, and raises an alert for a device that ignores this."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

import structlog

from drover.bus.messages import Bus, Rejected
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import ReportThrottled
from drover.web.ratelimit import Limiter, Refused, too_many

VITAL_FACTOR: Final = 4
"""The limits of heartbeats, and of reports that start or end work, are this many times the limit of other requests."""
STRAYS_FACTOR: Final = 20
"""The limit of reports about unknown assignments is this many times that of other requests. All callers with the same
key share it."""
ACTOR: Final = "gateway"

log = structlog.get_logger("drover.gateway")


class DeviceLimits:
    """The request limits of each device. Only polls and progress reports can be blocked for long: limits must not make
    work fail."""

    def __init__(self, bus: Bus, *, per_s: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._bus = bus
        self._asking = Limiter(per_s, burst, clock=clock)
        self._heartbeats = Limiter(per_s * VITAL_FACTOR, burst * VITAL_FACTOR, clock=clock, stop_after=None)
        self._reports = Limiter(per_s * VITAL_FACTOR, burst * VITAL_FACTOR, clock=clock, stop_after=None)
        self._strays = Limiter(per_s * STRAYS_FACTOR, burst * STRAYS_FACTOR, clock=clock, stop_after=None)
        self._telling: set[asyncio.Task[None]] = set()
        """The tasks that report a device to the writer: at most one for each device in five minutes."""

    def check(self, device_id: str) -> None:
        """Count a poll or a progress report; 429 above the limit. Three refusals in a row block both for a while."""
        verdict = self._asking.check(device_id)
        if isinstance(verdict, Refused):
            if verdict.first_stop:
                self._tell(device_id)
            raise too_many(verdict.retry_after_s)

    def check_heartbeat(self, device_id: str) -> None:
        """Count a heartbeat; 429 above the limit. Heartbeats are never blocked for long."""
        _demand(self._heartbeats, device_id)

    def check_vital(self, device_id: str) -> None:
        """Count a report that starts or ends work; 429 above the limit. It is never blocked for long. It is counted
        separately from heartbeats, because anybody with the key that all phones share can send heartbeats for any
        phone."""
        _demand(self._reports, device_id)

    def check_stray(self, caller: str) -> None:
        """Count a report about an unknown assignment; 429 above the limit, because each one costs a request to the
        writer."""
        _demand(self._strays, caller)

    def _tell(self, device_id: str) -> None:
        log.warning("device_stopped", device_id=device_id)
        task = asyncio.create_task(self._report(device_id), name="report-throttled")
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _report(self, device_id: str) -> None:
        outcome = await self._bus.send(FLEET.context, ReportThrottled(device_id), by=ACTOR)
        if isinstance(outcome, Rejected):
            log.warning("device_stop_not_recorded", device_id=device_id, code=outcome.code)


def _demand(limiter: Limiter, key: str) -> None:
    verdict = limiter.check(key)
    if isinstance(verdict, Refused):
        raise too_many(verdict.retry_after_s)
