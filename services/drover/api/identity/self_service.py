"""Helpers for requests of people about their own account. Only people of the built-in issuer have one."""

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
    """Return the person who calls. Raises 403 for an API key, and for people of another issuer, whose ids may belong to
    somebody else here."""
    if principal.issuer != ISSUER or principal.user_id is None or principal.session_id is None:
        raise ApiError(403, "FOREIGN_ISSUER", "Another issuer manages your account; ask there")
    return Person(principal, principal.user_id, principal.session_id)
