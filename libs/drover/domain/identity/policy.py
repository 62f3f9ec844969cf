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
"""The pattern of a digest in hexadecimal: of a refresh token (SHA-256) or an e-mail address (HMAC-SHA-256)."""

ACCOUNTS_MAX: Final = 10_000
"""The maximum number of accounts; further ones are refused, because all are in memory. Accounts are for the people who
run a farm, not for its customers."""
SESSIONS_PER_ACCOUNT_MAX: Final = 100
"""The maximum number of sessions of one account that have not ended. The setting for it cannot be higher. One
decision can end all of them, so their number needs a bound."""
SEALED_CHARS_MAX: Final = 2_000
USER_AGENT_CHARS_MAX: Final = 80
LIFETIME_S_MAX: Final = 366 * 86_400
EMAIL_HASHES_MAX: Final = 2
"""The maximum number of hashes of one e-mail address: one for each secret in use."""

GRACE: Final = timedelta(seconds=10)
"""How long a used refresh token still gets the same new token, so that two browser tabs do not sign each other out."""
ROTATIONS_IN_GRACE_MAX: Final = 8
"""How often a session may rotate its refresh token within one grace period; further rotations are refused."""
ENDED_KEPT: Final = timedelta(hours=1)
"""How long an ended session stays in the state: the longest life of an access token. A process that starts within this
time must still learn that the session has ended."""
ENDED_MAX: Final = 100_000
"""From this number of ended sessions in the state on, new sessions are refused. Ended sessions cannot be forgotten
earlier, because their access tokens would be valid again."""
ALERTS_MAX: Final = 1_000
"""From this number of open alerts on, no further one is raised."""
FIRED_AT_ONCE_MAX: Final = 200
"""The maximum number of deadlines that one decision fires; the next decision fires the rest."""
ALERT_LASTS: Final = timedelta(days=1)

REUSED: Final = "refresh_token_reused"
"""The kind of the alert that a used refresh token was used again: somebody may have stolen a copy of it."""
