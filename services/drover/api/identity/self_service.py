"""Who asks for what is theirs: a person whom this platform itself vouches for."""

from __future__ import annotations

from typing import NamedTuple

from aiohttp import web

from drover.service.access_tokens import ISSUER
from drover.web.auth import Authenticator, Principal
from drover.web.callers import Callers
from drover.web.errors import ApiError
from drover.web.permissions import Verb, demand


class Person(NamedTuple):
    principal: Principal
    account_id: str
    session_id: str


class Door:
    """What stands before every route of the issuer."""

    def __init__(self, auth: Authenticator, callers: Callers) -> None:
        self.auth = auth
        self.callers = callers

    def person(self, request: web.Request, verb: Verb) -> Person:
        """401 without a good token, 403 for a key and for people of another issuer, whose ids mean somebody else."""
        self.callers.demand_https(request)
        principal = self.auth.authenticate(request.headers)
        demand(principal, "me", verb)
        if principal.issuer != ISSUER or principal.user_id is None or principal.session_id is None:
            raise ApiError(403, "FOREIGN_ISSUER", "Your account is kept by another issuer; ask there")
        return Person(principal, principal.user_id, principal.session_id)
