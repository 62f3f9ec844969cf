"""Makes the keys of identity's timers. Those of alerts are in `drover.domain.alerts`."""

from __future__ import annotations

from typing import Final

EXPIRY: Final = "s"
ARCHIVING: Final = "a"
KEY_EXPIRY: Final = "k"
KEY_GRACE: Final = "g"
ENROLMENT: Final = "e"


def expiry(session_id: str) -> str:
    return f"{EXPIRY}:{session_id}"


def archiving(session_id: str) -> str:
    return f"{ARCHIVING}:{session_id}"


def key_expiry(key_id: str) -> str:
    return f"{KEY_EXPIRY}:{key_id}"


def key_grace(key_id: str) -> str:
    return f"{KEY_GRACE}:{key_id}"


def enrolment_end(enrolment_id: str) -> str:
    return f"{ENROLMENT}:{enrolment_id}"
