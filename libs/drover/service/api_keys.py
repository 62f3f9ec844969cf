"""Issues API keys: JWTs with a role, like Supabase's. HTTP services verify them (`drover.web.auth`)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final
from uuid import UUID

ALGORITHM: Final = "HS256"
"""The only algorithm that is accepted: a token must never choose how it is verified."""
ISSUER: Final = "drover"
API_KEY_LIFETIME_S: Final = 10 * 365 * 24 * 3600
"""How long an API key is valid: ten years, because these keys are built into agents."""


class Role(StrEnum):
    __hash__ = str.__hash__  # the hash of an enum is Python code, and every heartbeat looks up a role

    ANON = "anon"
    """The role of the key that is in every phone."""
    DEVICE = "device"
    """The role of a key for one phone: the key names the device, and may read and report for that device only."""
    SERVICE_ROLE = "service_role"
    """The role of the back office's key."""
    ADMIN = "admin"
    OPERATOR = "operator"
    VIEWER = "viewer"
    AUTHENTICATED = "authenticated"
    """The role of a person whose token comes from another issuer and has no role here: sees only their own data,
    nothing of the farm."""


KEY_ROLES: Final = (Role.ANON, Role.DEVICE, Role.SERVICE_ROLE)
"""The roles that API keys may have. The other roles are for people, who have other tokens (`access_tokens`)."""


def issue_api_key(
    secret: str, role: Role, *, now_s: float, lifetime_s: float = API_KEY_LIFETIME_S, device_id: UUID | None = None
) -> str:
    """Make a signed API key. The role `device` needs a device id, and no other role takes one."""
    import jwt  # here, because it imports cryptography, and `drover --help` needs only the roles

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
