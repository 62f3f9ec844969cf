"""Decides about API keys: creates, adopts, rotates and revokes them. The tokens themselves are never here."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from drover.domain.decider import NOTHING, Decision, accept, answer, reject
from drover.domain.errors import Code
from drover.domain.identity import events as e
from drover.domain.identity.commands import AdoptApiKey, CreateApiKey, RevokeApiKey, RotateApiKey
from drover.domain.identity.policy import API_KEY_VALID_S_MAX, API_KEYS_MAX, KeyRole
from drover.domain.identity.state import Identity

REVOKED: Final = "revoked"
"""The reason when a person revoked the key."""
ROTATED: Final = "rotated"


def create_api_key(identity: Identity, command: CreateApiKey, now: datetime) -> Decision:
    if (refusal := _why_not(identity, command.key_id, command.key_role, command.device_id)) is not None:
        return refusal
    expires_at = valid_until(now, command.valid_s)
    return accept(e.ApiKeyCreated(command.key_id, command.name, command.key_role, expires_at, command.device_id))


def adopt_api_key(identity: Identity, command: AdoptApiKey, now: datetime) -> Decision:
    known = identity.api_keys.get(identity.adopted.get(command.digest, ""))
    if known is not None:
        if known.is_revoked:
            return reject(Code.CONFLICT, "This key was revoked", key_id=known.key_id)
        return answer(_told(known.key_id, known.expires_at))
    if (refusal := _why_not(identity, command.key_id, command.key_role, command.device_id)) is not None:
        return refusal
    expires_at = min(command.expires_at, valid_until(now, API_KEY_VALID_S_MAX))
    if expires_at <= now:
        return reject(Code.VALIDATION_ERROR, "The key has expired", field="expires_at")
    return accept(
        e.ApiKeyAdopted(command.key_id, command.name, command.key_role, command.digest, expires_at, command.device_id)
    )


def rotate_api_key(identity: Identity, command: RotateApiKey, now: datetime) -> Decision:
    key = identity.api_keys.get(command.key_id)
    if key is None or key.is_revoked:
        return no_key()
    successor = identity.api_keys.get(key.successor_id or "")
    if successor is not None and not successor.is_revoked:
        message = "The key was rotated already; to rotate it again, revoke its successor first"
        return reject(Code.CONFLICT, message, successor_id=successor.key_id)
    if (refusal := _why_not(identity, command.successor_id, key.role, key.device_id)) is not None:
        return refusal
    created = e.ApiKeyCreated(
        command.successor_id, key.name, key.role, valid_until(now, command.valid_s), key.device_id, key.key_id
    )
    if not command.grace_s:
        return accept(created, e.ApiKeyRevoked(key.key_id, ROTATED))
    ends_at = min(now + timedelta(seconds=command.grace_s), key.expires_at)
    return accept(created, e.ApiKeyReplaced(key.key_id, command.successor_id, ends_at))


def revoke_api_key(identity: Identity, command: RevokeApiKey, now: datetime) -> Decision:
    key = identity.api_keys.get(command.key_id)
    if key is None:
        return no_key()
    return NOTHING if key.is_revoked else accept(e.ApiKeyRevoked(key.key_id, REVOKED))


def valid_until(now: datetime, valid_s: int) -> datetime:
    """Return when a key expires, in whole seconds, because its token has whole seconds."""
    return (now + timedelta(seconds=valid_s)).replace(microsecond=0)


def created_answer(event: e.ApiKeyCreated) -> dict[str, Any]:
    """Make the answer to the caller, with every value that the caller needs to make the key's token."""
    return {
        **_told(event.key_id, event.expires_at),
        "name": event.name,
        "role": event.role,
        "device_id": event.device_id,
        "created_at": event.at,
    }


def adopted_answer(event: e.ApiKeyAdopted) -> dict[str, Any]:
    return _told(event.key_id, event.expires_at)


def too_many(identity: Identity, new: int) -> Decision | None:
    """Refuse new keys beyond the maximum; None if there is room. Revoked keys count, too, as long as the state
    remembers that they were revoked."""
    if len(identity.api_keys) + new <= API_KEYS_MAX:
        return None
    message = f"There are {len(identity.api_keys)} keys that have not expired; {API_KEYS_MAX} is the maximum"
    return reject(Code.CONFLICT, message, api_keys_max=API_KEYS_MAX)


def no_key() -> Decision:
    return reject(Code.NOT_FOUND, "API key not found")


def _told(key_id: str, expires_at: datetime) -> dict[str, Any]:
    return {"key_id": key_id, "expires_at": expires_at}


def _why_not(identity: Identity, key_id: str, role: str, device_id: str | None) -> Decision | None:
    if (role == KeyRole.DEVICE) != (device_id is not None):
        return reject(
            Code.VALIDATION_ERROR, "A key of the role device, and no other, has a device_id", field="device_id"
        )
    if key_id in identity.api_keys:
        return reject(Code.UNIQUE_VIOLATION, "There is an API key with this id already")
    return too_many(identity, 1)
