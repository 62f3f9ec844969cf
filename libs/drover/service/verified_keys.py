"""Verifies API keys with the secrets that signed them, for the command line. HTTP services verify with public keys
(`drover.web.auth`)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

import jwt
import msgspec
from msgspec import Meta

from drover.service import api_keys, identity_keys
from drover.service.api_keys import KEY_ROLES, Role
from drover.service.identity_keys import IdentityKeys


class VerifiedKey(msgspec.Struct, frozen=True):
    """The claims of a key, after its signature and expiry were checked."""

    role: Role
    exp: Annotated[float, Meta(gt=0, lt=1e11)] | None = None
    device_id: UUID | None = None
    jti: UUID | None = None

    @property
    def expires_at(self) -> datetime | None:
        return None if self.exp is None else datetime.fromtimestamp(self.exp, UTC)


def verified_claims(token: str, keys: IdentityKeys | None, shared_secrets: Iterable[str]) -> VerifiedKey | None:
    """Return the claims of a key. None if it was not signed with these secrets, has expired, or is no API key."""
    # In this spelling, its digest differs from that of the key that services accept.
    if not api_keys.is_spelled_once(token):
        return None
    candidates: list[tuple[Any, str]] = [(secret, api_keys.ALGORITHM) for secret in shared_secrets]
    if keys is not None:
        candidates += [(pair.public, identity_keys.ALGORITHM) for pair in keys.api]
    for key, algorithm in candidates:
        try:
            claims = jwt.decode(token, key, algorithms=[algorithm], options={"verify_iat": False, "verify_aud": False})
            known = msgspec.convert(claims, VerifiedKey)
        except (jwt.InvalidTokenError, msgspec.ValidationError, ValueError, TypeError):
            continue
        if known.role in KEY_ROLES and (known.role is Role.DEVICE) == (known.device_id is not None):
            return known
    return None
