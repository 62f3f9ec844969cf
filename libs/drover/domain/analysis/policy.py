"""Limits, patterns and texts of analyses (document 001). Values that operators can set come with the commands."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

USER_ID_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.:|-]{0,127}$"
"""The pattern of user ids. It has no `@`: ids appear in logs, so an e-mail address must not be one."""
TEST_ID_PATTERN: Final = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
RUN_ID_PATTERN: Final = TEST_ID_PATTERN
TIER_PATTERN: Final = r"^[a-z0-9_-]{1,32}$"
ERROR_CODE_PATTERN: Final = r"^[A-Za-z0-9_.-]{1,64}$"

FIRST_YEAR: Final = 1970
"""A start before this year is refused as a mistake. Very early dates break date arithmetic."""
TIER_DEFAULT: Final = "free"
TIERS_MAX: Final = 64
"""The maximum number of different tiers that users have. A user with one more tier is refused, because a cleanup checks
every tier."""
REMAINING_MAX: Final = 1_000_000
"""The maximum balance of a user, in tests. Grants and refunds beyond it are refused."""
UNDER_WAY_PER_USER_MAX: Final = 100
"""The maximum number of running tests of one user; further starts are refused. A change of the user's tier moves all of
them in one decision."""

TIMEOUT_DEFAULT_S: Final = 30 * 60
TIMEOUT_S_MAX: Final = 7 * 24 * 3600
TIMED_OUT_MESSAGE: Final = "시스템 타임아웃으로 자동 정리됨"
ARCHIVE_AFTER: Final = timedelta(hours=24)
"""How long the decider remembers an ended test, unless too many have ended since. Later reports are answered from the
read model."""
PAST_TESTS_MAX: Final = 50_000
"""How many ended tests the decider remembers, besides those that ended within `KEPT_AT_LEAST`."""

MESSAGE_BYTES_MAX: Final = 1000
"""Maximum size of a worker's error message, in UTF-8. Longer ones are cut."""
RESULT_REF_BYTES_MAX: Final = 500
REASON_BYTES_MAX: Final = 500

FOLLOW_UP_EVENTS_MAX: Final = 180
"""The maximum number of events that one command may add for the running cleanup; the next tick continues. At about 500
bytes each, they stay within the size limit of a decision."""
NOTICES_MAX: Final = 20
"""The maximum number of users that one step of a cleanup notifies; the next step continues."""
RUNS_REMEMBERED_MAX: Final = 256
"""How many finished cleanups the decider remembers. The read model keeps all of them."""
RUNS_USERS_MAX: Final = 50_000
"""How many users the decider remembers, summed over all finished cleanups. The last cleanup is always remembered, with
all its users."""
USERS_PER_ANSWER_MAX: Final = 1000
"""The maximum number of users in one answer about a cleanup. Callers get the others by an offset."""
