"""Finds the device of a request in the roster."""

from __future__ import annotations

import re
from typing import Final

from aiohttp import web

from drover.domain.fleet.state import Device
from drover.gateway.roster import Roster
from drover.web.auth import Principal
from drover.web.errors import ApiError, not_found, unavailable
from drover.web.permissions import Grant, check_own

# The query that phones really send, recognized without the parser.
_PLAIN: Final = re.compile(r"serial_number=eq\.([A-Z0-9]{8,32})", re.ASCII)
_CLAIM: Final = re.compile(r"(?:^|&)(serial_number|device_id|id)=eq\.([A-Za-z0-9-]{8,36})(?=&|\Z)", re.ASCII)


def is_plain(query: str) -> bool:
    return _PLAIN.fullmatch(query) is not None


def find_device(roster: Roster, query: str, principal: Principal, grant: Grant) -> Device:
    """Return the device that the query names. Raises 404, or 403 if the key is bound to another device."""
    plain = _PLAIN.fullmatch(query)
    assert plain is not None
    device = roster.device(plain[1])
    if device is None:
        raise absent(roster)
    check_own(grant, principal, device.device_id)
    return device


def claimed_device(roster: Roster, request: web.Request) -> str | None:
    """Return the id of the device that the query of a request names, or whose assignment it names. None: it names
    neither, or the roster does not have it."""
    found = _CLAIM.search(request.rel_url.raw_query_string)
    if found is None:
        return None
    fleet, (column, value) = roster.fleet, found.groups()
    if column == "serial_number":
        return fleet.device_by_serial.get(value)
    if value in fleet.devices:
        return value
    work = fleet.assignments.get(value) or fleet.ended.get(value)
    return None if work is None else work.device_id


def absent(roster: Roster) -> ApiError:
    """Make the error for a device that is not in the roster."""
    if not roster.complete:
        # A 404 would tell a phone that it is not registered, which is not known yet.
        return unavailable("The gateway has just started and is still loading the fleet")
    return not_found("Device")
