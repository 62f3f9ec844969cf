"""Writes the log lines about cleanups, as document 001 (saju tests and sign-in), §4.1, prescribes them.

The lines name users only by their ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import structlog

USERS_SHOWN_MAX: Final = 100
"""Maximum of user ids in a log line; the rest is left out. The table `cleanup_runs` has all ids."""

log = structlog.get_logger("cleanup-tests")


def cleaned(count: int, users: Sequence[str], skipped: int, duration_ms: int) -> None:
    shown = ", ".join(users[:USERS_SHOWN_MAX])
    more = len(users) - USERS_SHOWN_MAX
    ids = f"[{shown}{f', … {more} more' if more > 0 else ''}]"
    log.info(
        f"cleanup-tests: Cleaned {count} stalled tests for users {ids}",
        cleaned_count=count,
        users_count=len(users),
        skipped_count=skipped,
        duration_ms=duration_ms,
    )


def nothing_to_do() -> None:
    log.info("cleanup-tests: No tests to cleanup", cleaned_count=0)


def failed(reason: str) -> None:
    log.error(f"cleanup-tests: Failed to cleanup tests - {reason}", alert=True)


def skipped(test_id: str, user_id: str, reason: str, run_id: str | None) -> None:
    log.error(
        f"cleanup-tests: Skipped test {test_id} of user {user_id} - {reason}",
        test_id=test_id,
        user_id=user_id,
        reason=reason,
        run_id=run_id,
    )


def wrong_secret(caller: str, unmentioned: int) -> None:
    log.warning("cleanup-tests: Invalid cron secret", caller=caller, unmentioned=unmentioned)
