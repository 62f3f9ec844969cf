"""API keys as admins see them, and how a recorded key becomes a token."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

import msgspec

from drover.service.api_keys import Role, sign_api_key
from drover.service.identity_keys import IdentityKeys

LISTED: Final = """
SELECT k.id, k.name, k.role, k.device_id, k.created_at, k.created_by, k.expires_at, k.adopted, k.enrolment_id,
       k.replaces, k.successor_id, k.ends_at, e.revoked_at, e.reason, u.last_used_at
FROM rm_identity.api_key_rows k LEFT JOIN rm_identity.api_key_end_rows e USING (id)
LEFT JOIN tel_identity.key_uses u ON u.key_id = k.id
ORDER BY k.created_at DESC, k.id LIMIT $1 OFFSET $2
"""

State = Literal["active", "ending", "revoked", "expired"]


class KeyRecord(msgspec.Struct, frozen=True):
    """An API key, without the key itself."""

    id: UUID
    """The id of the key. The key itself contains it as its claim `jti`."""
    name: str
    role: str
    device_id: UUID | None
    """The device that the key is bound to; null if it is bound to none."""
    created_at: datetime
    created_by: str
    """Who issued it: `user:<id>`, `pc:<id>` (the agent of a PC, by enrolment), `cli` or `up`."""
    expires_at: datetime
    adopted: bool
    """Whether the key was issued without a record, and recorded later."""
    enrolment_id: UUID | None
    replaces: UUID | None
    """The key that this one succeeds; null if there is none."""
    successor_id: UUID | None
    ends_at: datetime | None
    """When the key is revoked, because it was rotated; null if it was not rotated."""
    revoked_at: datetime | None
    reason: str | None
    """Why the key was revoked: `revoked`, `rotated` or `enrolled_again`; null if it was not."""
    last_used_at: datetime | None
    """When the key was last used, to the minute; null if never. For a WebSocket, only its opening counts as a use."""

    @classmethod
    def of(cls, row: Any) -> KeyRecord:
        return cls(**{field: row[field] for field in cls.__struct_fields__})

    def state(self, now: datetime) -> State:
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at <= now:
            return "expired"
        return "active" if self.ends_at is None else "ending"


class _Recorded(msgspec.Struct):
    key_id: str
    role: Role
    created_at: datetime
    expires_at: datetime
    device_id: UUID | None = None


def sign(keys: IdentityKeys, result: Any) -> str:
    """Make the token of a key from the answer to the command that recorded it."""
    recorded = msgspec.convert(result, _Recorded)
    return sign_api_key(
        keys,
        recorded.role,
        key_id=recorded.key_id,
        now_s=recorded.created_at.timestamp(),
        expires_s=recorded.expires_at.timestamp(),
        device_id=recorded.device_id,
    )
