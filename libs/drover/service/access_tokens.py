"""Issues the access tokens of people. HTTP services verify them (`drover.web.people`)."""

from __future__ import annotations

from typing import Final

import jwt

from drover.service.api_keys import Role
from drover.service.identity_keys import ALGORITHM, IdentityKeys

ISSUER: Final = "drover-identity"
"""The issuer of people's tokens. It differs from the issuer of API keys, so that a service knows which keys and which
algorithm to verify a token with."""
AUDIENCE: Final = "authenticated"
"""The audience in people's tokens, the same as in Supabase's."""
LIFETIME_S_MAX: Final = 3600
PEOPLE: Final = (Role.ADMIN, Role.OPERATOR, Role.VIEWER)


def issue_access_token(
    keys: IdentityKeys, *, account_id: str, session_id: str, role: Role, now_s: float, lifetime_s: int
) -> str:
    """Make a signed token with account, role and lifetime. It has no e-mail address and no name, because tokens end up
    in logs."""
    assert role in PEOPLE, role
    assert 0 < lifetime_s <= LIFETIME_S_MAX, lifetime_s
    kid, private = keys.signing
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": account_id,
        "role": role.value,
        "session_id": session_id,
        "iat": int(now_s),
        "exp": int(now_s) + lifetime_s,
    }
    return jwt.encode(claims, private, algorithm=ALGORITHM, headers={"kid": kid})
