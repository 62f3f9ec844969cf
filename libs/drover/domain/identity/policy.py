"""Identity's numbers and patterns. What an operator may choose comes with the commands."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Final


class AccountRole(StrEnum):
    """What a person may do. The table of it stands at the edge (`drover.web.permissions`)."""

    ADMIN = "admin"
    OPERATOR = "operator"
    VIEWER = "viewer"


ID_PATTERN: Final = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
DIGEST_PATTERN: Final = r"[0-9a-f]{64}"
"""Of a refresh token (SHA-256), and of an address (HMAC-SHA-256)."""

ACCOUNTS_MAX: Final = 10_000
"""People who run a farm, not its customers: all of them are in memory."""
SESSIONS_PER_ACCOUNT_MAX: Final = 100
"""Whatever the setting says: ending them all is one decision, so their number has a bound."""
SEALED_CHARS_MAX: Final = 2_000
USER_AGENT_CHARS_MAX: Final = 80
LIFETIME_S_MAX: Final = 366 * 86_400
EMAIL_HASHES_MAX: Final = 2
"""One for each live key."""

GRACE: Final = timedelta(seconds=10)
"""So long a refresh token that was just used gets the same child again: two tabs must not sign each other out."""
ROTATIONS_IN_GRACE_MAX: Final = 8
"""More of them within one grace is nobody's tab."""
ENDED_KEPT: Final = timedelta(hours=1)
"""As long as an access token can live: until then processes that start must learn that its session is over."""
FIRED_AT_ONCE_MAX: Final = 200
"""Deadlines in one decision; what is left is due, and fires in the next."""
ALERT_LASTS: Final = timedelta(days=1)

REUSED: Final = "refresh_token_reused"
"""Kind of the alert: somebody has a copy of a session."""
