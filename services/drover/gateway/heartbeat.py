"""`PATCH /rest/v1/devices`: the heartbeat. Touches the roster and telemetry; never the writer, never PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, Protocol
from uuid import UUID

import msgspec
from aiohttp import web
from msgspec import UNSET, UnsetType
from multidict import CIMultiDictProxy

from drover.domain.errors import Code
from drover.domain.fleet.state import DeviceStatus
from drover.gateway.relations import DEVICES
from drover.gateway.representation import answer_update, check_media, check_select, device_row
from drover.gateway.roster import Roster, RosterDevice
from drover.web.auth import Authenticator
from drover.web.bodies import Body, read_body
from drover.web.errors import ApiError, invalid, unavailable
from drover.web.permissions import Verb, demand
from drover.web.postgrest.compile import bad_value
from drover.web.postgrest.grammar import parse_filter, parse_select, split_parameters
from drover.web.postgrest.prefer import parse_prefer
from drover.web.postgrest.respond import check_profile

DEVICES_PER_PATCH_MAX: Final = 100

# What phones really send, told apart from all else without the parser.
_PLAIN: Final = re.compile(r"serial_number=eq\.([A-Z0-9]{8,32})", re.ASCII)


class Telemetry(Protocol):
    """What is needed of `drover.bus.telemetry.TelemetryOut`."""

    def beat(self, device_id: str, seen_at: datetime, reported: dict[str, Any] | None) -> None: ...


class Heartbeat(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a phone says of itself: claims, which decide nothing."""

    last_seen_at: datetime | UnsetType | None = UNSET
    status: DeviceStatus | UnsetType = UNSET


class Heartbeats:
    """The handler, and what it needs."""

    def __init__(self, auth: Authenticator, roster: Roster, telemetry: Telemetry) -> None:
        self._auth = auth
        self._roster = roster
        self._telemetry = telemetry
        self._body = Body(Heartbeat)

    async def patch(self, request: web.Request) -> web.Response:
        headers = request.headers
        demand(self._auth.authenticate(headers), "devices", Verb.UPDATE)
        if "Content-Profile" in headers:
            check_profile(headers, "Content-Profile")
        beat = self._body.decode(await read_body(request))
        query = request.rel_url.raw_query_string
        plain = _PLAIN.fullmatch(query)
        if plain is not None:
            device = self._roster.by_serial.get(plain[1])
            devices: Sequence[RosterDevice] = () if device is None else (device,)
        else:
            devices = self._find(query)
        if not devices:
            if not self._roster.complete:
                # A 404 would tell a phone that it is not registered. Not knowing yet is something else.
                raise unavailable("The gateway has just started and is still reading who is in the fleet")
            raise ApiError(404, Code.NOT_FOUND, "Device not found")
        now = datetime.now(UTC)
        answer = web.Response(status=204) if "Prefer" not in headers else _answer(devices, now, headers, query)
        reported = _claims(beat)
        for device in devices:
            self._telemetry.beat(device.id, now, reported)
        return answer

    def _find(self, query: str) -> Sequence[RosterDevice]:
        """The devices that the one filter names: `id` or `serial_number`, with `eq` or `in`."""
        filters = [
            parse_filter(key, value) for key, value in split_parameters(query) if key not in ("select", "columns")
        ]
        if len(filters) != 1 or filters[0].negated or filters[0].operator not in ("eq", "in"):
            raise invalid("A PATCH of devices takes one filter: id or serial_number, with eq or in", field="filter")
        column, value = filters[0].column, filters[0].value
        values = value if isinstance(value, tuple) else (value,)
        if len(values) > DEVICES_PER_PATCH_MAX:
            raise invalid(f"At most {DEVICES_PER_PATCH_MAX} devices in one PATCH", field=column, value=len(values))
        if column == "serial_number":
            known = self._roster.by_serial
        elif column == "id":
            known, values = self._roster.by_id, tuple(map(_canonical_uuid, values))
        else:
            raise invalid("A PATCH of devices takes a filter on id or serial_number", field=column, value=values[:1])
        return [device for one in dict.fromkeys(values) if (device := known.get(one)) is not None]


def _answer(devices: Sequence[RosterDevice], now: datetime, headers: CIMultiDictProxy[str], query: str) -> web.Response:
    """What a client that has preferences is answered, or the refusal of what it asked to see."""
    preferences = parse_prefer(headers.getall("Prefer"))
    if not preferences.representation:
        return answer_update(None, preferences, headers)
    selected = [value for key, value in split_parameters(query) if key == "select"]
    select = parse_select(selected[-1]) if selected else ()
    check_select(select, DEVICES)
    check_media(len(devices), preferences, headers)
    rows = [device_row(device, last_seen_at=now) for device in devices]
    return answer_update(rows, preferences, headers, select=select)


def _claims(beat: Heartbeat) -> dict[str, Any] | None:
    claims: dict[str, Any] = {}
    if beat.status is not UNSET:
        claims["status"] = beat.status
    if beat.last_seen_at is not UNSET and beat.last_seen_at is not None:
        claims["last_seen_at"] = beat.last_seen_at
    return claims or None


def _canonical_uuid(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise bad_value("uuid", text) from None
