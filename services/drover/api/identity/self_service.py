"""Who asks for what is theirs: a person whom this platform itself vouches for."""

from __future__ import annotations

from typing import NamedTuple

from drover.service.access_tokens import ISSUER
from drover.web.auth import Principal
from drover.web.errors import ApiError


class Person(NamedTuple):
    principal: Principal
    account_id: str
    session_id: str


def person_of(principal: Principal) -> Person:
    """403 for a key and for people of another issuer, whose ids mean somebody else."""
    if principal.issuer != ISSUER or principal.user_id is None or principal.session_id is None:
        raise ApiError(403, "FOREIGN_ISSUER", "Your account is kept by another issuer; ask there")
    return Person(principal, principal.user_id, principal.session_id)
