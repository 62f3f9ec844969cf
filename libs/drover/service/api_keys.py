"""API keys as JWTs with a role, as Supabase's are: how they are issued. Edges verify them (`drover.web.auth`)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final
from uuid import UUID

ALGORITHM: Final = "HS256"
"""Fixed: a token never chooses how it is verified."""
ISSUER: Final = "drover"
API_KEY_LIFETIME_S: Final = 10 * 365 * 24 * 3600
"""Ten years: these keys are built into agents."""


class Role(StrEnum):
    __hash__ = str.__hash__  # an enum's own is Python code, and roles are looked up on every heartbeat

    ANON = "anon"
    """The key that is in every phone."""
    DEVICE = "device"
    """One phone: the key names its device, and sees and reports that one only."""
    SERVICE_ROLE = "service_role"
    """The back office."""
    ADMIN = "admin"
    OPERATOR = "operator"
    VIEWER = "viewer"
    AUTHENTICATED = "authenticated"
    """Somebody whom another issuer knows and who has no role here: sees what is theirs, and nothing of the farm."""


KEY_ROLES: Final = (Role.ANON, Role.DEVICE, Role.SERVICE_ROLE)
"""Those of keys. The others are people's, whose tokens are signed and verified differently (`access_tokens`)."""


def issue_api_key(
    secret: str, role: Role, *, now_s: float, lifetime_s: float = API_KEY_LIFETIME_S, device_id: UUID | None = None
) -> str:
    """A signed key. The role `device` needs the id of a device, and no other role takes one."""
    import jwt  # here: it brings cryptography, and `drover --help` needs the roles only

    assert role in KEY_ROLES, role
    assert (role is Role.DEVICE) == (device_id is not None), role
    claims: dict[str, Any] = {
        "iss": ISSUER,
        "role": role.value,
        "iat": int(now_s),
        "exp": int(now_s + lifetime_s),
        **({} if device_id is None else {"device_id": str(device_id)}),
    }
    return jwt.encode(claims, secret, algorithm=ALGORITHM)
