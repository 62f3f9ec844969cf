"""Who may do what with alarms, and for whom: a person for themselves, the back office for whom it says."""

from __future__ import annotations

from drover.web.auth import Principal
from drover.web.errors import invalid
from drover.web.permissions import Verb
from drover.web.route import Permission


def for_alarms(verb: Verb) -> Permission:
    """A person needs it for their own alarms, a program for anybody's."""
    return Permission("alarm", verb, own="my_alarms")


def whose(principal: Principal, asked_for: str | None) -> str:
    """The user that a request is about."""
    if principal.user_id is not None:
        if asked_for not in (None, principal.user_id):
            raise invalid("A person has alarms of their own only", field="user_id", value=asked_for)
        return principal.user_id
    if asked_for is None:
        raise invalid("user_id is required", field="user_id")
    return asked_for
