"""`PATCH /rest/v1/devices`: handles heartbeats, with the roster and telemetry; needs neither the writer nor PostgreSQL.

Changes by the back office have the same route. `device_changes` checks a request first, and handles it if it is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from aiohttp import web
from multidict import CIMultiDictProxy

from drover.domain.fleet.state import Device
from drover.gateway.device_bodies import DeviceChange, Heartbeat
from drover.gateway.device_lookup import find_devices
from drover.gateway.limits import DeviceLimits
from drover.gateway.representation import answer_update, parse_view
from drover.gateway.rest_routes import changes
from drover.gateway.roster import Roster
from drover.gateway.rows import device_row
from drover.readmodel.models import RELATIONS
from drover.web.auth import Authenticator, Principal
from drover.web.bodies import Body, read_body
from drover.web.errors import ApiError
from drover.web.permissions import Grant, Permissions, Verb, check_columns
from drover.web.postgrest.respond import check_profile
from drover.web.route import BY_HANDLER, AnyOf, handles

OFFICE_COLUMNS: Final = frozenset({"group_id", "pc_id", "capabilities", "error"})
"""Columns that only the back office may write. An agent that sends one gets the error "not permitted" instead of
"unknown"."""


class Telemetry(Protocol):
    """The methods of `drover.bus.telemetry.TelemetryOut` that are called here."""

    def beat(self, device_id: str, seen_at: datetime, reported: dict[str, Any] | None) -> None: ...


class Office(Protocol):
    """The methods of `drover.gateway.device_changes.DeviceChanges` that are called here."""

    async def patch(self, request: web.Request, principal: Principal, raw: bytes, grant: Grant) -> web.Response | None:
        """Answer a change by the back office. None: the request is a heartbeat."""


class Heartbeats:
    """The route that handles heartbeats."""

    def __init__(
        self,
        auth: Authenticator,
        permissions: Permissions,
        roster: Roster,
        telemetry: Telemetry,
        limits: DeviceLimits,
        office: Office,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._auth = auth
        self._permissions = permissions
        self._roster = roster
        self._telemetry = telemetry
        self._limits = limits
        self._office = office
        self._clock = clock
        self._body = Body(Heartbeat)

    @handles(changes("devices", AnyOf((Heartbeat, DeviceChange)), permission=BY_HANDLER))
    async def patch(self, request: web.Request) -> web.Response:
        headers = request.headers
        principal = self._auth.authenticate(headers)
        grant = self._permissions.demand(principal, "devices", Verb.UPDATE)
        if "Content-Profile" in headers:
            check_profile(headers, "Content-Profile")
        raw = await read_body(request)
        if grant.columns is None:  # the back office, and operators
            done = await self._office.patch(request, principal, raw, grant)
            if done is not None:
                return done
        beat = self._decode(raw, grant)
        query = request.rel_url.raw_query_string
        devices = find_devices(self._roster, query, principal, grant)
        now = self._clock()
        answer = web.Response(status=204) if "Prefer" not in headers else _shown(devices, now, headers, query)
        reported = beat.claims()
        for device in devices:  # before the limits: a throttled device must not silence the others
            self._telemetry.beat(device.device_id, now, reported)
        for device in devices:
            self._limits.check_heartbeat(device.device_id)
        return answer

    def _decode(self, raw: bytes, grant: Grant) -> Heartbeat:
        try:
            return self._body.decode(raw)
        except ApiError as error:
            field = error.details.get("field") if isinstance(error.details, dict) else None
            if field in OFFICE_COLUMNS:
                check_columns(grant, [field])
            raise


def _shown(devices: Sequence[Device], now: datetime, headers: CIMultiDictProxy[str], query: str) -> web.Response:
    """Make the answer, with the rows if the client asks for them. Raises an error if it asks for an invalid
    selection."""
    preferences, select = parse_view(RELATIONS["devices"], headers, query, len(devices))
    rows = [device_row(device, now) for device in devices] if preferences.representation else None
    return answer_update(rows, preferences, headers, select=select)
