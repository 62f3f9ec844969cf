"""The socket of one agent after its first frame (`agent_greeting`): receives frames, and sends work for its devices."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from drover.domain.errors import Code
from drover.domain.fleet.state import Device
from drover.gateway.agent_connection import Connection
from drover.gateway.agent_delivery import AgentDeliveries, DeliveryContext
from drover.gateway.agent_protocol import (
    AgentFrame,
    BadFrame,
    Beat,
    Bye,
    CloseCode,
    Judged,
    KnownDevice,
    Report,
    Welcome,
)
from drover.gateway.agent_registry import Registry, Scope
from drover.gateway.agent_reports import ReportLane
from drover.gateway.limits import DeviceLimits
from drover.gateway.reports import ReportBody
from drover.gateway.roster import Roster
from drover.web.auth import Authenticator, Principal
from drover.web.limits import LIMITED, Limits
from drover.web.ratelimit import Limited

PATH: Final = "/agent/v1/connect"
REPORTS_END_WITHIN_S: Final = 2.0
"""How many seconds a closing socket waits for the answers to its reports."""
REPLACED_RECONNECT_AFTER_S: Final = 30
"""How many seconds an agent must wait after a newer socket has replaced its own. So two agents that claim to be the
same phone do not replace each other all the time."""


class Reports(Protocol):
    """The methods of `drover.gateway.reports.Reports` that are called here."""

    async def submit(self, principal: Principal, assignment_id: str, body: ReportBody) -> object: ...


class Telemetry(Protocol):
    """The methods of `drover.bus.telemetry.TelemetryOut` that are called here."""

    def beat(self, device_id: str, seen_at: datetime, reported: dict[str, Any] | None) -> None: ...


@dataclass(frozen=True)
class Surroundings:
    """What all sessions of a process share."""

    roster: Roster
    registry: Registry
    context: DeliveryContext
    reports: Reports
    telemetry: Telemetry
    limits: DeviceLimits
    requests: Limits
    clock: Callable[[], datetime]


class Session:
    """A socket after its first frame: from the `welcome`, which answers that frame, until the socket closes."""

    def __init__(self, connection: Connection, principal: Principal, scope: Scope, around: Surroundings) -> None:
        self.scope = scope
        self.number = connection.number
        self._connection = connection
        self._principal = principal
        self._around = around
        self._deliveries = AgentDeliveries(around.context, principal, connection.put)
        self._lane = ReportLane(self._submit, connection.put)
        self._limits = around.limits
        self._has_left = False
        self._finish_by: float | None = None
        connection.on_end = self.leave

    # From its hello to its end

    def start(self, judged: Sequence[Judged]) -> None:
        """Replace an earlier session, send the `welcome`, and offer waiting work. Contains no await, so that no event
        is missed."""
        registry, fleet = self._around.registry, self._around.roster.fleet
        replaced = registry.enter(self)
        if replaced is self:
            self.replace()
            return
        for held in judged:
            assignment = fleet.assignments.get(held.assignment_id) if held.goes_on else None
            if assignment is not None and registry.session_for(fleet.devices[assignment.device_id]) is self:
                self._deliveries.holds(held.assignment_id, held.run)
        devices = list(self.scope.devices(fleet))
        known = [KnownDevice(device.device_id, device.serial_number) for device in devices]
        self._connection.put(Welcome(known, list(judged)))
        if replaced is not None:
            replaced.replace()
        for device in devices:
            if registry.session_for(device) is self:
                self.offer_what_waits(device)
        self._heard()

    async def run(self) -> None:
        """Receive frames until either side closes the socket."""
        try:
            while (frame := await self._connection.receive()) is not None:
                if self._principal.expires_at <= self._around.clock().timestamp():
                    self._connection.fault("TOKEN_EXPIRED", "JWT expired")
                    self._connection.end(CloseCode.BAD_KEY)
                    break
                self._heard()
                try:
                    await self._take(frame)
                except Limited as limited:
                    self._connection.fault(limited.code, limited.message, limited.retry_after_s)
                    self._refused(limited)
        finally:
            try:
                await self.finish()
            finally:
                await self._lane.close()
                await self._deliveries.close()

    def look(self, auth: Authenticator) -> None:
        """Close the socket if its key was revoked, or if this process cannot tell whether it was."""
        if not auth.is_current:
            self._connection.end(CloseCode.RESTART, bye=Bye("The server cannot check keys at the moment"))
        elif not auth.holds(self._principal):
            self._connection.fault("UNAUTHORIZED", "The key was revoked")
            self._connection.end(CloseCode.BAD_KEY)

    def replace(self) -> None:
        bye = Bye("A newer socket speaks for the same device or PC", REPLACED_RECONNECT_AFTER_S)
        self._connection.end(CloseCode.REPLACED, bye=bye)

    async def finish(self) -> None:
        """Accept no more frames, and wait a bounded time for the answers to reports."""
        self.leave()
        now = asyncio.get_running_loop().time()
        if self._finish_by is None:
            self._finish_by = now + REPORTS_END_WITHIN_S
        await self._lane.finish(max(self._finish_by - now, 0.0))

    def leave(self) -> None:
        """Stop sending work to this socket."""
        if self._has_left:
            return
        self._has_left = True
        self._around.registry.leave(self)
        self._deliveries.drop_all()
        self._lane.stop()
        if self.scope.device_id is not None:
            # If its PC has a socket, that one speaks for the device from now on.
            device = self._around.roster.fleet.devices[self.scope.device_id]
            if (other := self._around.registry.session_for(device)) is not None:
                other.offer_what_waits(device)

    # To the agent

    def offer_what_waits(self, device: Device) -> None:
        """Offer the device the assignment that waits for it, if there is one."""
        assignment = self._around.context.offers.waiting(device.device_id)
        if assignment is not None:
            self._deliveries.offer(assignment)

    # From the agent

    def _heard(self, device_id: str | None = None, reported: dict[str, Any] | None = None) -> None:
        """Record a sign of life of the device; without `device_id`, of the phone whose own socket this is."""
        device_id = device_id or self.scope.device_id
        if device_id is not None:
            self._around.telemetry.beat(device_id, self._around.clock(), reported)

    async def _take(self, frame: AgentFrame | BadFrame) -> None:
        if isinstance(frame, Beat):
            self._take_heartbeat(frame)
        elif isinstance(frame, Report):
            await self._lane.take(frame)
        elif isinstance(frame, BadFrame):
            if frame.ref is None:
                self._connection.not_understood(frame)
            else:
                self._limits.check_stray(self._principal.name)
                await self._lane.refuse(frame.ref, frame.message)
        else:
            self._connection.not_understood(BadFrame("The hello was already sent"))

    def _take_heartbeat(self, beat: Beat) -> None:
        roster = self._around.roster
        if beat.serial_number is not None:
            device = roster.device(beat.serial_number)
        elif self.scope.device_id is not None:
            device = roster.fleet.devices[self.scope.device_id]
        else:
            self._connection.not_understood(BadFrame("On the socket of a PC a heartbeat must have a serial_number"))
            return
        if device is None or not self.scope.covers(device):
            self._limits.check_stray(self._principal.name)
            # Not a bad frame: one unregistered phone must not end the socket of the others.
            self._connection.fault(Code.NOT_FOUND, f"No device {str(beat.serial_number)[:64]} on this socket")
            return
        self._heard(device.device_id, beat.claims())  # before the check, because a throttled device is alive, too
        self._limits.check_heartbeat(device.device_id)

    def _refused(self, limited: Limited) -> None:
        """Note a refused frame. An agent that goes on and on is disconnected."""
        LIMITED.labels(limited.kind, PATH).inc()
        self._around.requests.note_refusal(self.scope.subject)
        try:
            self._limits.check_refusal(self.number)
        except Limited as too_often:
            self._connection.turn_away(too_often)

    async def _submit(self, report: Report) -> None:
        if report.is_final:
            self._deliveries.reported_end(report.assignment_id, report.run, recorded=True)
        try:
            await self._around.reports.submit(self._principal, report.assignment_id, report)
        except BaseException as error:
            if isinstance(error, Limited):
                self._refused(error)
            if report.is_final:
                self._deliveries.reported_end(report.assignment_id, report.run, recorded=False)
            raise
