"""Decides whose data a request is about: a person uses their own, the back office names the user."""

from __future__ import annotations

from drover.web.auth import Principal
from drover.web.errors import invalid


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
