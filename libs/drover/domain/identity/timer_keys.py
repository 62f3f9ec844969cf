"""Makes the keys of identity's timers. Those of alerts are in `drover.domain.alerts`."""

from __future__ import annotations

from typing import Final

EXPIRY: Final = "s"
ARCHIVING: Final = "a"


def expiry(session_id: str) -> str:
    return f"{EXPIRY}:{session_id}"


def archiving(session_id: str) -> str:
    return f"{ARCHIVING}:{session_id}"
