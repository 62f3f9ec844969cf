"""`PATCH /rest/v1/devices`: handles heartbeats, with the roster and telemetry; needs neither the writer nor PostgreSQL.

Requests that are not a phone's plain heartbeat are passed on to the writes of the table.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Protocol

from aiohttp import web

from drover.domain.fleet.state import DeviceStatus
from drover.gateway.device_lookup import find_device, is_plain
from drover.gateway.limits import DeviceLimits
from drover.gateway.polling import AGENTS
from drover.gateway.rest_routes import changes
from drover.gateway.roster import Roster
from drover.gateway.tables.device_bodies import DeviceChange, Heartbeat
from drover.projection.positions import POSITION_HEADER
from drover.web.answers import UnloggedResponse, unlogged
from drover.web.auth import Principal
from drover.web.bodies import Body, read_body
from drover.web.errors import ApiError
from drover.web.limits import Limits
from drover.web.permissions import Permissions, Verb
from drover.web.route import BY_HANDLER, AnyOf, handles


class Telemetry(Protocol):
    """The methods of `drover.bus.telemetry.TelemetryOut` that are called here."""

    def beat(self, device_id: str, seen_at: datetime, reported: dict[str, Any] | None) -> None: ...


class DeviceUpdates(Protocol):
    """The methods of `drover.gateway.writes.handler.Tables` that are called here."""

    def update(
        self, relation: str, request: web.Request, principal: Principal, raw: bytes
    ) -> Awaitable[web.Response]: ...


class Heartbeats:
    """The route that handles heartbeats."""

    def __init__(
        self,
        permissions: Permissions,
        roster: Roster,
        telemetry: Telemetry,
        limits: DeviceLimits,
        requests: Limits,
        updates: DeviceUpdates,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`limits`: of heartbeats. `requests`: of all other requests."""
        self._permissions = permissions
        self._roster = roster
        self._telemetry = telemetry
        self._limits = limits
        self._requests = requests
        self._updates = updates
        self._clock = clock
        self._body = Body(Heartbeat)

    @handles(
        changes(
            "devices",
            AnyOf((Heartbeat, DeviceChange)),
            keys=("id", "serial_number"),
            permission=BY_HANDLER,
            limit=BY_HANDLER,
        )
    )
    async def patch(self, request: web.Request, principal: Principal) -> web.Response:
        headers, query = request.headers, request.rel_url.raw_query_string
        try:
            grant = self._permissions.demand(principal, "devices", Verb.UPDATE)
            raw = await read_body(request)
        except ApiError:
            self._requests.count(principal, request)
            raise
        beat = None
        if is_plain(query) and "Prefer" not in headers and "Content-Profile" not in headers:
            beat = self._decode(raw)
        by_office = grant.columns is None
        if beat is None or beat.status is DeviceStatus.ERROR or (by_office and beat.resets):
            self._requests.count(principal, request)
            answer = await self._updates.update("devices", request, principal, raw)
            # Heartbeats of Supabase's clients get here, because they ask for the row. A request that recorded something
            # is no heartbeat, so it is logged.
            is_beat = principal.role in AGENTS and POSITION_HEADER not in answer.headers
            return unlogged(answer) if is_beat else answer
        try:
            device = find_device(self._roster, query, principal, grant)
        except ApiError:  # there is no device whose limit could count it
            self._requests.count(principal, request)
            raise
        # Before the check: a throttled device is alive, too.
        self._telemetry.beat(device.device_id, self._clock(), beat.claims())
        self._limits.check_heartbeat(device.device_id)
        return UnloggedResponse(status=204)

    def _decode(self, raw: bytes) -> Heartbeat | None:
        """Decode a plain heartbeat. None: the request is something else, which the writes of the table handle."""
        try:
            return self._body.decode(raw)
        except ApiError:
            return None
