"""Who may use which alarms: a person their own, the back office those of any user it names."""

from __future__ import annotations

from drover.web.auth import Principal
from drover.web.owner import owner_of
from drover.web.permissions import Verb
from drover.web.route import Permission


def for_alarms(verb: Verb) -> Permission:
    """The permission: of a person for their own alarms, of a program for all alarms."""
    return Permission("alarm", verb, own="my_alarms")


def whose(principal: Principal, asked_for: str | None) -> str:
    """The user that a request is about."""
    return owner_of(principal, asked_for, what="alarms")
