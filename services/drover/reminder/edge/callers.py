"""Who may use which alarms: a person their own, the back office those of any user it names."""

from __future__ import annotations

from drover.web.auth import Principal
from drover.web.errors import invalid
from drover.web.permissions import Verb
from drover.web.route import Permission


def for_alarms(verb: Verb) -> Permission:
    """The permission: of a person for their own alarms, of a program for all alarms."""
    return Permission("alarm", verb, own="my_alarms")


def whose(principal: Principal, asked_for: str | None) -> str:
    """The user that a request is about."""
    if principal.user_id is not None:
        if asked_for not in (None, principal.user_id):
            raise invalid("A person can only use their own alarms", field="user_id", value=asked_for)
        return principal.user_id
    if asked_for is None:
        raise invalid("user_id is required", field="user_id")
    return asked_for
