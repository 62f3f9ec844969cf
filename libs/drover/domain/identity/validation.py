"""Checks of identity's commands that need no state. Messages never repeat the values: they may be secret."""

from __future__ import annotations

import re
from typing import Any, Final

from drover.domain.decider import Command, Rejection
from drover.domain.errors import Code
from drover.domain.identity.audit import WHAT_CHARS_MAX, AccessKind
from drover.domain.identity.policy import (
    API_KEY_GRACE_S_MAX,
    API_KEY_VALID_S_MAX,
    DEVICES_PER_ENROLMENT_MAX,
    DIGEST_PATTERN,
    EMAIL_HASHES_MAX,
    ID_PATTERN,
    KEY_NAME_CHARS_MAX,
    LIFETIME_S_MAX,
    PC_ID_PATTERN,
    SEALED_CHARS_MAX,
    SESSIONS_PER_ACCOUNT_MAX,
    USER_AGENT_CHARS_MAX,
    USER_ID_CHARS_MAX,
    AccountRole,
    KeyRole,
)

_ID: Final = re.compile(ID_PATTERN)
_DIGEST: Final = re.compile(DIGEST_PATTERN)
_REASON: Final = re.compile(r"[a-z_]{1,32}")
_ROLES: Final = {"role": frozenset(AccountRole), "key_role": frozenset(KeyRole)}

_FORMS: Final[dict[str, re.Pattern[str]]] = {
    "account_id": _ID,
    "access_id": _ID,
    "session_id": _ID,
    "keep_session_id": _ID,
    "key_id": _ID,
    "successor_id": _ID,
    "device_id": _ID,
    "enrolment_id": _ID,
    "email_hash": _DIGEST,
    "digest": _DIGEST,
    "parent": _DIGEST,
    "child": _DIGEST,
    "nonce": _DIGEST,
    "reason": _REASON,
    "email_sealed": re.compile(rf".{{1,{SEALED_CHARS_MAX}}}"),
    "password_sealed": re.compile(rf".{{1,{SEALED_CHARS_MAX}}}"),
    "address_sealed": re.compile(rf".{{1,{SEALED_CHARS_MAX}}}"),
    "kind": re.compile("|".join(AccessKind)),
    "what": re.compile(rf"[^\x00-\x1f]{{1,{WHAT_CHARS_MAX}}}"),
    "name": re.compile(rf"[^\x00-\x1f\x7f]{{1,{KEY_NAME_CHARS_MAX}}}"),
    "pc_id": re.compile(PC_ID_PATTERN),
    "user_agent": re.compile(rf"[^\x00-\x1f]{{0,{USER_AGENT_CHARS_MAX}}}"),
}
_NUMBERS: Final = {
    "idle_s": LIFETIME_S_MAX,
    "lifetime_s": LIFETIME_S_MAX,
    "sessions_max": SESSIONS_PER_ACCOUNT_MAX,
    "valid_s": API_KEY_VALID_S_MAX,
    "devices_max": DEVICES_PER_ENROLMENT_MAX,
}
_LISTS: Final = ("email_hashes", "also_hashes")


def validate(command: Command) -> Rejection | None:
    """Return why a command can never be accepted, or None. A field name means the same in every command."""
    for field in command.__struct_fields__:
        value = getattr(command, field)
        if value is not None and not _is_good(field, value):
            return Rejection(Code.VALIDATION_ERROR, f"{field} is not valid", {"field": field})
    return None


def _is_good(field: str, value: Any) -> bool:
    if field in _FORMS:
        return _FORMS[field].fullmatch(value) is not None
    if field in _NUMBERS:
        return bool(1 <= value <= _NUMBERS[field])
    if field in _LISTS:
        return len(value) <= EMAIL_HASHES_MAX and all(map(_DIGEST.fullmatch, value))
    if field == "user_id":
        return 0 < len(value) <= USER_ID_CHARS_MAX and value.isprintable()
    if field == "grace_s":
        return bool(0 <= value <= API_KEY_GRACE_S_MAX)
    if field == "keys":
        return 1 <= len(value) <= DEVICES_PER_ENROLMENT_MAX and all(
            _ID.fullmatch(key.key_id) and _ID.fullmatch(key.device_id) for key in value
        )
    return field not in _ROLES or value in _ROLES[field]
