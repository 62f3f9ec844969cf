"""Who may do what: one table, and what is not in it is denied."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from drover.service.api_keys import Role
from drover.web.auth import Principal
from drover.web.errors import ApiError


class Verb(StrEnum):
    __hash__ = str.__hash__  # as with roles

    READ = "read"
    CREATE = "create"
    UPDATE = "update"


ALLOWED: Final[frozenset[tuple[Role, str, Verb]]] = frozenset(
    (role, relation, verb)
    for role, relation, verbs in (
        (Role.ANON, "devices", (Verb.READ, Verb.UPDATE)),  # update: the heartbeat
        (Role.SERVICE_ROLE, "devices", (Verb.READ, Verb.CREATE, Verb.UPDATE)),
        (Role.SERVICE_ROLE, "pcs", (Verb.READ, Verb.CREATE)),
        (Role.SERVICE_ROLE, "events", (Verb.READ,)),
        (Role.SERVICE_ROLE, "status", (Verb.READ,)),
    )
    for verb in verbs
)


def demand(principal: Principal, relation: str, verb: Verb) -> None:
    """403 unless the table says yes."""
    if (principal.role, relation, verb) not in ALLOWED:
        raise ApiError(
            403,
            "42501",
            f"permission denied for table {relation}",
            details={"role": principal.role, "relation": relation, "verb": verb},
        )
