"""Identity's relations, as its projection makes them. For admins; no address is in them."""

from __future__ import annotations

from functools import partial
from typing import Final

from drover.gateway.relations.describe import many, one, relation
from drover.web.postgrest.relation import PgType

_identity: Final = partial(relation, "identity")

ACCOUNTS: Final = _identity(
    "accounts",
    {
        "id": PgType.UUID,
        "role": PgType.TEXT,
        "disabled": PgType.BOOLEAN,
        "created_at": PgType.TIMESTAMPTZ,
        "updated_at": PgType.TIMESTAMPTZ,
        "last_sign_in_at": PgType.TIMESTAMPTZ,
    },
    embeds=(many("sessions", "account_id"),),
)
SESSIONS: Final = _identity(
    "sessions",
    {
        "id": PgType.UUID,
        "account_id": PgType.UUID,
        "user_agent": PgType.TEXT,
        "started_at": PgType.TIMESTAMPTZ,
        "last_used_at": PgType.TIMESTAMPTZ,
        "expires_at": PgType.TIMESTAMPTZ,
        "ended_at": PgType.TIMESTAMPTZ,
        "reason": PgType.TEXT,
    },
    embeds=(one("accounts", "account_id"),),
)
