"""Checks of a command that need no state. HTTP services call them before they send the command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from drover.domain.analysis import commands as c
from drover.domain.analysis.policy import (
    ERROR_CODE_PATTERN,
    FIRST_YEAR,
    REMAINING_MAX,
    RUN_ID_PATTERN,
    TEST_ID_PATTERN,
    TIER_PATTERN,
    TIERS_MAX,
    TIMEOUT_S_MAX,
    USER_ID_PATTERN,
)
from drover.domain.decider import Command, Rejection
from drover.domain.field_checks import TextPatterns, check_range, invalid
from drover.domain.rules import validate_by

_TEXTS: Final = TextPatterns(
    user_id=USER_ID_PATTERN,
    test_id=TEST_ID_PATTERN,
    run_id=RUN_ID_PATTERN,
    tier=TIER_PATTERN,
    error_code=ERROR_CODE_PATTERN,
)


def _register_user(command: c.RegisterUser) -> Rejection | None:
    return _TEXTS.check(user_id=command.user_id, tier=command.tier) or check_range(
        0, REMAINING_MAX, remaining_tests=command.remaining_tests
    )


def _change_user(command: c.ChangeUser) -> Rejection | None:
    return (
        _TEXTS.check(user_id=command.user_id, tier=command.tier)
        or check_range(1, REMAINING_MAX, grant_tests=command.grant_tests)
        or check_range(0, REMAINING_MAX, remaining_tests=command.remaining_tests)
        or _one_way(command)
    )


def _one_way(command: c.ChangeUser) -> Rejection | None:
    if command.grant_tests is None or command.remaining_tests is None:
        return None
    return invalid("grant_tests", command.grant_tests, "Either grant_tests or remaining_tests, not both")


def _start_test(command: c.StartTest) -> Rejection | None:
    return _TEXTS.check(test_id=command.test_id, user_id=command.user_id)


def _complete_test(command: c.CompleteTest) -> Rejection | None:
    return _TEXTS.check(test_id=command.test_id)


def _fail_test(command: c.FailTest) -> Rejection | None:
    return _TEXTS.check(test_id=command.test_id, error_code=command.error_code)


def _record_test(command: c.RecordTest) -> Rejection | None:
    return _TEXTS.check(test_id=command.test_id, user_id=command.user_id, error_code=command.error_code) or _created_at(
        command.created_at
    )


def _created_at(moment: datetime | None) -> Rejection | None:
    """Refuse a start without an offset or too long ago. A start in the future is accepted, because clocks differ."""
    if moment is None:
        return None
    if moment.tzinfo is None:
        return invalid("created_at", moment.isoformat(), "created_at needs an offset, such as Z")
    if moment.year < FIRST_YEAR:
        return invalid("created_at", moment.isoformat(), f"created_at must be in {FIRST_YEAR} or later")
    return None


def _change_test(command: c.ChangeTest) -> Rejection | None:
    return _TEXTS.check(test_id=command.test_id, error_code=command.error_code)


def _cleanup(command: c.Cleanup) -> Rejection | None:
    if command.trigger not in (c.CRON, c.MANUAL):
        return invalid("trigger", command.trigger, "trigger must be cron or manual")
    if (command.trigger == c.CRON) is (command.scheduled_for is None):
        return invalid(
            "scheduled_for", command.scheduled_for, "scheduled_for is required for cron and not allowed for manual"
        )
    return (
        _TEXTS.check(run_id=command.run_id)
        or check_range(1, TIMEOUT_S_MAX, timeout_s=command.timeout_s)
        or _tiers(command.tier_timeouts_s)
    )


def _tiers(timeouts_s: Mapping[str, int]) -> Rejection | None:
    if len(timeouts_s) > TIERS_MAX:
        return invalid("tier_timeouts_s", len(timeouts_s), f"at most {TIERS_MAX} tiers")
    for tier, timeout_s in timeouts_s.items():
        if refusal := _TEXTS.check(tier=tier) or check_range(1, TIMEOUT_S_MAX, tier_timeouts_s=timeout_s):
            return refusal
    return None


def _get_cleanup_run(command: c.GetCleanupRun) -> Rejection | None:
    return _TEXTS.check(run_id=command.run_id) or check_range(0, 2**31 - 1, users_from=command.users_from)


_CHECKS: Final[dict[type[Command], Callable[[Any], Rejection | None]]] = {
    c.RegisterUser: _register_user,
    c.ChangeUser: _change_user,
    c.StartTest: _start_test,
    c.CompleteTest: _complete_test,
    c.FailTest: _fail_test,
    c.RecordTest: _record_test,
    c.ChangeTest: _change_test,
    c.Cleanup: _cleanup,
    c.GetCleanupRun: _get_cleanup_run,
}

validate: Final = validate_by(_CHECKS)
