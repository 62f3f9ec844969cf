"""Finds the devices of a PATCH of `devices` in the roster."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from drover.domain.fleet.state import Device
from drover.gateway.patching import canonical_uuid
from drover.gateway.roster import Roster
from drover.web.auth import Principal
from drover.web.errors import invalid, not_found, unavailable
from drover.web.permissions import Grant, check_own
from drover.web.postgrest.grammar import parse_filter, split_parameters

DEVICES_PER_PATCH_MAX: Final = 100

# The query that phones really send, recognized without the parser.
_PLAIN: Final = re.compile(r"serial_number=eq\.([A-Z0-9]{8,32})", re.ASCII)


def find_devices(roster: Roster, query: str, principal: Principal, grant: Grant) -> Sequence[Device]:
    """At least one device, or 404. A key that is bound to a device gets 403 for any other."""
    plain = _PLAIN.fullmatch(query)
    if plain is not None:
        device = roster.device(plain[1])
        devices: Sequence[Device] = () if device is None else (device,)
    else:
        devices = _by_filter(roster, query)
    if devices:
        if grant.own:
            for device in devices:
                check_own(grant, principal, device.device_id)
        return devices
    if not roster.complete:
        # A 404 would tell a phone that it is not registered, which is not known yet.
        raise unavailable("The gateway has just started and is still loading the fleet")
    raise not_found("Device")


def _by_filter(roster: Roster, query: str) -> Sequence[Device]:
    """The devices that the one filter names: `id` or `serial_number`, with `eq` or `in`."""
    filters = [parse_filter(key, value) for key, value in split_parameters(query) if key not in ("select", "columns")]
    if len(filters) != 1 or filters[0].negated or filters[0].operator not in ("eq", "in"):
        raise invalid("A PATCH of devices takes one filter: id or serial_number, with eq or in", field="filter")
    column, value = filters[0].column, filters[0].value
    values = value if isinstance(value, tuple) else (value,)
    if len(values) > DEVICES_PER_PATCH_MAX:
        raise invalid(f"At most {DEVICES_PER_PATCH_MAX} devices in one PATCH", field=column, value=len(values))
    if column == "serial_number":
        found = [roster.device(one) for one in dict.fromkeys(values)]
    elif column == "id":
        found = [roster.fleet.devices.get(one) for one in dict.fromkeys(map(canonical_uuid, values))]
    else:
        raise invalid("A PATCH of devices takes a filter on id or serial_number", field=column, value=values[:1])
    return [device for device in found if device is not None]
