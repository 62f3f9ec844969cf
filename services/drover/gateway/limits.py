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
from drover.service.api_keys import Role
from drover.web.limits import demand
from drover.web.ratelimit import Limited, Limiter, Refused

VITAL_FACTOR: Final = 4
"""The limits of heartbeats, and of reports that start or end work, are this many times the limit of other requests."""
REFUSALS_FACTOR: Final = 10
"""How many refused frames a socket may send, as a multiple of the limit of other requests. Beyond it, the socket is
closed, so that an agent in a tight loop costs nothing."""
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
        self._connects = Limiter(per_s, burst, clock=clock, stop_after=None)
        self._refusals = Limiter(per_s * REFUSALS_FACTOR, burst * REFUSALS_FACTOR, clock=clock, stop_after=None)
        self._strays = Limiter(per_s * STRAYS_FACTOR, burst * STRAYS_FACTOR, clock=clock, stop_after=None)
        self._telling: set[asyncio.Task[None]] = set()
        """The tasks that report a device to the writer: at most one for each device in five minutes."""

    def check(self, device_id: str) -> None:
        """Count a poll or a progress report; 429 above the limit. Three refusals in a row block both for a while."""
        verdict = self._asking.check(device_id)
        if isinstance(verdict, Refused):
            if verdict.first_stop:
                self._tell(device_id)
            raise Limited(verdict.retry_after_s, Role.DEVICE)

    def check_heartbeat(self, device_id: str) -> None:
        """Count a heartbeat; 429 above the limit. Heartbeats are never blocked for long."""
        demand(self._heartbeats, device_id, Role.DEVICE)

    def check_vital(self, device_id: str) -> None:
        """Count a report that starts or ends work; 429 above the limit. It is never blocked for long. It is counted
        separately from heartbeats, because anybody with the key that all phones share can send heartbeats for any
        phone."""
        demand(self._reports, device_id, Role.DEVICE)

    def check_connect(self, subject: str) -> None:
        """Count a socket of a device or PC; 429 above the limit."""
        demand(self._connects, subject, Role.DEVICE)

    def check_refusal(self, socket: int) -> None:
        """Count a refused frame of a socket; 429 if there are so many that the socket must be closed."""
        demand(self._refusals, str(socket), Role.DEVICE)

    def check_stray(self, caller: str) -> None:
        """Count a report about an unknown assignment, or a frame about no known device; 429 above the limit, because
        each report costs a request to the writer."""
        demand(self._strays, caller, caller.partition(":")[0])

    def _tell(self, device_id: str) -> None:
        log.warning("device_stopped", device_id=device_id)
        task = asyncio.create_task(self._report(device_id), name="report-throttled")
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _report(self, device_id: str) -> None:
        outcome = await self._bus.send(FLEET.context, ReportThrottled(device_id), by=ACTOR)
        if isinstance(outcome, Rejected):
            log.warning("device_stop_not_recorded", device_id=device_id, code=outcome.code)
