"""Identity's limits and patterns. Values that an operator can set come with the commands."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Final


class AccountRole(StrEnum):
    """A person's role. What each role may do is in `drover.web.permissions`."""

    ADMIN = "admin"
    OPERATOR = "operator"
    VIEWER = "viewer"


ID_PATTERN: Final = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
DIGEST_PATTERN: Final = r"[0-9a-f]{64}"
"""The pattern of digests, of a refresh token (SHA-256) or of an address (HMAC-SHA-256)."""

ACCOUNTS_MAX: Final = 10_000
"""Maximum of accounts, because all of them are in memory. Accounts are for the people who run a farm, not for its
customers."""
SESSIONS_PER_ACCOUNT_MAX: Final = 100
"""Maximum of sessions of an account, also for the setting. One decision ends all of them, so their number needs a
bound."""
SEALED_CHARS_MAX: Final = 2_000
USER_AGENT_CHARS_MAX: Final = 80
LIFETIME_S_MAX: Final = 366 * 86_400
EMAIL_HASHES_MAX: Final = 2
"""Maximum of hashes of one address: there is one for each live key."""

GRACE: Final = timedelta(seconds=10)
"""How long a used refresh token still gets the same child: two tabs must not sign each other out."""
ROTATIONS_IN_GRACE_MAX: Final = 8
"""No browser tab refreshes more often than this within one grace period."""
ENDED_KEPT: Final = timedelta(hours=1)
"""How long an ended session stays in the state: the longest life of an access token. A process that starts within this
time must still learn that the session is over."""
FIRED_AT_ONCE_MAX: Final = 200
"""Maximum of deadlines in one decision; the rest stays due and fires in the next."""
ALERT_LASTS: Final = timedelta(days=1)

REUSED: Final = "refresh_token_reused"
"""Kind of alert: somebody else may have a copy of a session's token."""
