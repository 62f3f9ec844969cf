"""Whose alarms a caller may use: people only their own, the back office those of any user that it names."""

from __future__ import annotations

from drover.web.auth import Principal
from drover.web.owner import owner_of
from drover.web.permissions import Verb
from drover.web.route import Permission


def for_alarms(verb: Verb) -> Permission:
    """Make the permission for a route: people need it for their own alarms, programs for all alarms."""
    return Permission("alarm", verb, own="my_alarms")


def whose(principal: Principal, asked_for: str | None) -> str:
    """Return the id of the user whose alarms the request is about."""
    return owner_of(principal, asked_for, what="alarms")
