"""For whom somebody speaks: a person for themselves, the back office for whom it says."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from drover.web.auth import Authenticator, Principal
from drover.web.errors import invalid
from drover.web.permissions import Permissions, Verb

ANYBODYS: Final = "alarm"
OWN: Final = "my_alarms"


class Callers:
    def __init__(self, auth: Authenticator, permissions: Permissions) -> None:
        self._auth = auth
        self._permissions = permissions

    def admit(self, request: web.Request, verb: Verb) -> Principal:
        """Who may do this with alarms: their own, or anybody's."""
        principal = self._auth.authenticate(request.headers)
        self._permissions.demand(principal, OWN if principal.user_id else ANYBODYS, verb)
        return principal

    def demand(self, request: web.Request, relation: str, verb: Verb) -> Principal:
        principal = self._auth.authenticate(request.headers)
        self._permissions.demand(principal, relation, verb)
        return principal


def whose(principal: Principal, asked_for: str | None) -> str:
    """The user that a request is about."""
    if principal.user_id is not None:
        if asked_for not in (None, principal.user_id):
            raise invalid("A person has alarms of their own only", field="user_id", value=asked_for)
        return principal.user_id
    if asked_for is None:
        raise invalid("user_id is required", field="user_id")
    return asked_for
