"""Decides whose data a request is about, and how many events its caller may cause. People use their own data; the back
office names the user."""

from __future__ import annotations

from drover.service.api_keys import Role
from drover.web.auth import Principal
from drover.web.errors import invalid


def quota_of(principal: Principal, events_per_day: int) -> int | None:
    """Return how many events the caller may cause in a day. None: no limit, because the caller runs the farm and is no
    end user."""
    return events_per_day if principal.role is Role.AUTHENTICATED else None


def owner_of(principal: Principal, named: str | None, *, what: str) -> str:
    """Return the id of the user that a request is about. `named`: the user in the request, if any. `what`: the kind of
    data, in the plural, for the error message."""
    if principal.user_id is not None:
        if named not in (None, principal.user_id):
            raise invalid(f"A person can only use their own {what}", field="user_id", value=named)
        return principal.user_id
    if named is None:
        raise invalid("user_id is required", field="user_id")
    return named
