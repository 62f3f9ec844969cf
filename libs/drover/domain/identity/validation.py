"""Checks of identity's commands that need no state. Messages never repeat the values: they may be secret."""

from __future__ import annotations

import re
from typing import Any, Final

from drover.domain.decider import Command, Rejection
from drover.domain.errors import Code
from drover.domain.identity.policy import (
    DIGEST_PATTERN,
    EMAIL_HASHES_MAX,
    ID_PATTERN,
    LIFETIME_S_MAX,
    SEALED_CHARS_MAX,
    SESSIONS_PER_ACCOUNT_MAX,
    USER_AGENT_CHARS_MAX,
    AccountRole,
)

_ID: Final = re.compile(ID_PATTERN)
_DIGEST: Final = re.compile(DIGEST_PATTERN)
_REASON: Final = re.compile(r"[a-z_]{1,32}")
_ROLES: Final = frozenset(AccountRole)

_FORMS: Final[dict[str, re.Pattern[str]]] = {
    "account_id": _ID,
    "session_id": _ID,
    "keep_session_id": _ID,
    "email_hash": _DIGEST,
    "digest": _DIGEST,
    "parent": _DIGEST,
    "child": _DIGEST,
    "reason": _REASON,
    "email_sealed": re.compile(rf".{{1,{SEALED_CHARS_MAX}}}"),
    "password_sealed": re.compile(rf".{{1,{SEALED_CHARS_MAX}}}"),
    "user_agent": re.compile(rf"[^\x00-\x1f]{{0,{USER_AGENT_CHARS_MAX}}}"),
}
_NUMBERS: Final = {
    "idle_s": LIFETIME_S_MAX,
    "lifetime_s": LIFETIME_S_MAX,
    "sessions_max": SESSIONS_PER_ACCOUNT_MAX,
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
    return field != "role" or value in _ROLES
