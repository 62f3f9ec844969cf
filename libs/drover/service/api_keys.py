"""Issues API keys: JWTs with a role, like Supabase's. HTTP services verify them (`drover.web.auth`).

A key is signed with ES256 and has an id, by which it is listed and revoked. Keys of older installations have no id.
They are signed with HS256 and a shared secret, which every process that verifies them needs.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

if TYPE_CHECKING:  # it imports cryptography, and `drover --help` needs only the roles
    from drover.service.identity_keys import IdentityKeys

ALGORITHM: Final = "HS256"
"""The only algorithm that is accepted for a key without an id: a token must never choose how it is verified."""
ISSUER: Final = "drover"
API_KEY_LIFETIME_S: Final = 10 * 365 * 24 * 3600
"""How long an API key is valid: ten years, because these keys are built into agents."""


class Role(StrEnum):
    # str's hash is faster than an enum's, which is Python code; every heartbeat looks up a role.
    __hash__ = str.__hash__

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
    """Make an API key without an id, signed with a shared secret. The role `device` needs a device id, and no other
    role takes one."""
    import jwt  # here, because it imports cryptography, and `drover --help` needs only the roles

    claims = _claims(role, now_s, now_s + lifetime_s, device_id)
    return jwt.encode(claims, secret, algorithm=ALGORITHM)


def sign_api_key(
    keys: IdentityKeys, role: Role, *, key_id: str, now_s: float, expires_s: float, device_id: UUID | None = None
) -> str:
    """Make an API key with an id, signed with the first private key of `keys`."""
    import jwt

    from drover.service import identity_keys

    claims = {**_claims(role, now_s, expires_s, device_id), "jti": key_id}
    signing = keys.api[0]
    return jwt.encode(claims, signing.private, algorithm=identity_keys.ALGORITHM, headers={"kid": signing.kid})


def is_spelled_once(token: str) -> bool:
    """Whether the signature of the token is written in the usual way. Decoders of base64 ignore padding and more, so
    one signature can be written in several ways. Only one spelling is accepted, because a revoked key is recognised by
    the digest of its text."""
    signature = token.rpartition(".")[2]
    try:
        decoded = urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    except ValueError:
        return False
    return urlsafe_b64encode(decoded).rstrip(b"=").decode() == signature


def digest_of(token: str) -> str:
    """Return the digest of a key's text. Keys without an id are recognised by it."""
    return sha256(token.encode()).hexdigest()


def _claims(role: Role, now_s: float, expires_s: float, device_id: UUID | None) -> dict[str, Any]:
    assert role in KEY_ROLES, role
    assert (role is Role.DEVICE) == (device_id is not None), role
    return {
        "iss": ISSUER,
        "role": role.value,
        "iat": int(now_s),
        "exp": int(expires_s),
        **({} if device_id is None else {"device_id": str(device_id)}),
    }
