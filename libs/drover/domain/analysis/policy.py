"""The numbers, patterns and texts of analyses (seed 001). What operators can set travels in commands."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

USER_ID_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.:|-]{0,127}$"
"""No `@`: an e-mail address is no id, and ids are in logs."""
TEST_ID_PATTERN: Final = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
RUN_ID_PATTERN: Final = TEST_ID_PATTERN
TIER_PATTERN: Final = r"^[a-z0-9_-]{1,32}$"
ERROR_CODE_PATTERN: Final = r"^[A-Za-z0-9_.-]{1,64}$"

TIER_DEFAULT: Final = "free"
TIERS_MAX: Final = 64
"""In use at the same time. A cleanup looks at each of them, so their number has a bound."""
REMAINING_MAX: Final = 1_000_000
"""Tests that a user may have left. What would lead beyond it is refused, a refund included."""
UNDER_WAY_PER_USER_MAX: Final = 100
"""Bounds what a change of tier has to move."""

TIMEOUT_DEFAULT_S: Final = 30 * 60
TIMEOUT_S_MAX: Final = 7 * 24 * 3600
TIMED_OUT_MESSAGE: Final = "시스템 타임아웃으로 자동 정리됨"
ARCHIVE_AFTER: Final = timedelta(hours=24)
"""An ended test is forgotten by the decider this long after its end; a report that comes later gets 404."""

MESSAGE_BYTES_MAX: Final = 1000
"""What workers say about a failure, in UTF-8: longer ones are cut."""
RESULT_REF_BYTES_MAX: Final = 500
REASON_BYTES_MAX: Final = 500

FOLLOW_UP_EVENTS_MAX: Final = 180
"""Events by which one command carries on a cleanup. With some 500 bytes each they stay within a decision's bound; what
is left goes on with the next tick."""
NOTICES_MAX: Final = 20
"""Users told of a cleanup in one step."""
RUNS_REMEMBERED_MAX: Final = 256
"""Finished cleanups that can still be asked about here. The read model keeps them all."""
USERS_PER_ANSWER_MAX: Final = 1000
"""Users of a cleanup that one answer names; further ones are asked for by their place."""
