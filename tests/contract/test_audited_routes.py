"""Every route that shows something sensitive says so."""

from __future__ import annotations

import pytest

from drover.domain.identity.audit import AccessKind
from drover.platform.registry import REGISTRY
from drover.web.permissions import Verb
from drover.web.route import Permission, routes_of

SENSITIVE = {
    "accounts": AccessKind.PEOPLE,
    "sessions": AccessKind.PEOPLE,
    "keys": AccessKind.KEYS,
    "audit": AccessKind.AUDIT,
    "render_files": AccessKind.FILM,
    "alarm": AccessKind.REMINDER_TEXT,
    "evidence": AccessKind.EVIDENCE,
}
"""By relation of the table of permissions."""


def read_routes():
    for service in REGISTRY.values():
        for route in routes_of(*service.handlers):
            permission = route.permission
            if isinstance(permission, Permission) and permission.verb is Verb.READ:
                yield pytest.param(route, id=f"{service.name} {route.path}")


@pytest.mark.req("SE-11")
@pytest.mark.parametrize("route", list(read_routes()))
def test_a_route_that_shows_something_sensitive_records_who_reads_it(route):
    assert route.audited == SENSITIVE.get(route.permission.relation)
