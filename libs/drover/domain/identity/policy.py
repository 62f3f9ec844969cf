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


class KeyRole(StrEnum):
    """The role of an API key."""

    ANON = "anon"
    DEVICE = "device"
    SERVICE_ROLE = "service_role"


ID_PATTERN: Final = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
PC_ID_PATTERN: Final = r"[A-Za-z0-9._-]{1,64}"
"""The pattern of a PC's id, the same as in the fleet."""
DIGEST_PATTERN: Final = r"[0-9a-f]{64}"
"""The pattern of a digest in hexadecimal: of a token or a code (SHA-256) or an e-mail address (HMAC-SHA-256)."""

ACCOUNTS_MAX: Final = 10_000
"""The maximum number of accounts; further ones are refused, because all are in memory. Accounts are for the people who
run a farm, not for its customers."""
SESSIONS_PER_ACCOUNT_MAX: Final = 100
"""The maximum number of sessions of one account that have not ended. Operators can set a lower maximum, but not a
higher one. One decision can end all of them, so their number needs a bound."""
SEALED_CHARS_MAX: Final = 2_000
USER_ID_CHARS_MAX: Final = 200
"""The maximum length of a person's id, also at another issuer."""
USER_AGENT_CHARS_MAX: Final = 80
LIFETIME_S_MAX: Final = 366 * 86_400
EMAIL_HASHES_MAX: Final = 2
"""The maximum number of hashes of one e-mail address: one for each secret in use."""

GRACE: Final = timedelta(seconds=10)
"""How long a used refresh token still gets the same new token, so that two browser tabs do not sign each other out."""
ROTATIONS_IN_GRACE_MAX: Final = 8
"""How often a session may rotate its refresh token within one grace period; further rotations are refused."""
API_KEY_VALID_S_MAX: Final = 10 * 366 * 86_400
"""How long an API key can be valid at most: about ten years, because these keys are built into agents."""
API_KEY_GRACE_S_MAX: Final = 90 * 86_400
"""How long a rotated key can stay valid at most."""
API_KEYS_MAX: Final = 200_000
"""The maximum number of API keys in the state: those that have not expired, and revoked ones that are still remembered.
Further ones are refused."""
REVOKED_KEPT: Final = timedelta(days=1)
"""How long a revoked key stays in the state after it has expired. Processes compare the expiry with their own clocks:
one whose clock is behind would accept the key again if it was forgotten at once."""
KEY_NAME_CHARS_MAX: Final = 80
DEVICES_PER_ENROLMENT_MAX: Final = 200
"""The maximum number of phones for one code, which is also the maximum for one PC. All of them are in one event."""
ENROLMENTS_MAX: Final = 1_000
"""The maximum number of codes that have not expired."""
ENROLMENT_S_MAX: Final = 30 * 86_400
"""How long a code can be used at most."""
ENROLMENT_USES_MAX: Final = 10
"""How often an agent can use its code: enough for lost answers. Without a bound, one agent could use up `API_KEYS_MAX`,
because revoked keys count, too."""

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
