"""Commands about analyses. They carry the values that an operator can set, so the rules need no settings."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from drover.domain.alert_handling import AlertCommand
from drover.domain.analysis.policy import TIMEOUT_DEFAULT_S
from drover.domain.analysis.state import TestStatus
from drover.domain.decider import Command, Tick
from drover.domain.limited_callers import ReportLimited

CRON: Final = "cron"
MANUAL: Final = "manual"


class RegisterUser(Command):
    """Register a user. A field that is None has its default: no tests, the tier `free`, not frozen."""

    user_id: str
    remaining_tests: int | None = None
    tier: str | None = None
    frozen: bool | None = None


class UserFence(msgspec.Struct, frozen=True, kw_only=True):
    """The values that a user must still have, or the change is refused. None: any value."""

    tier: str | None = None
    frozen: bool | None = None
    remaining_tests: int | None = None


class ChangeUser(Command):
    """Change a user for the back office. A field that is None stays as it is."""

    user_id: str
    tier: str | None = None
    frozen: bool | None = None
    grant_tests: int | None = None
    remaining_tests: int | None = None
    """The new balance. The ledger records the difference."""
    only_if: UserFence = UserFence()


class StartTest(Command):
    test_id: str
    user_id: str
    quota: int | None = None
    """How many events the user may cause in a day. None: no limit."""


class CompleteTest(Command):
    test_id: str
    result_ref: str | None = None


class FailTest(Command):
    """Fail a test that its worker could not complete, and refund it to the user."""

    test_id: str
    error_code: str | None = None
    error_message: str | None = None


class RecordTest(Command):
    """Record a test that a caller inserts as a row. The caller charges for it by writing `remaining_tests`."""

    test_id: str
    user_id: str
    status: TestStatus = TestStatus.PROCESSING
    created_at: datetime | None = None
    """When the test was started, if it is imported. None: now."""
    result_ref: str | None = None
    error_code: str | None = None
    error_message: str | None = None


class ChangeTest(Command):
    """Change a test that a caller updates as a row. If the caller fails it, the caller also refunds it."""

    test_id: str
    status: TestStatus
    result_ref: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    only_if: TestStatus | None = None
    """The status that the test must still have. None: any."""


class Cleanup(Command):
    """Fail and refund stalled tests. If a cleanup is already running, answer with that one instead."""

    run_id: str
    trigger: str = MANUAL
    scheduled_for: datetime | None = None
    """The scheduled time, if cron requests the cleanup. A second request for the same time starts no second cleanup."""
    timeout_s: int = TIMEOUT_DEFAULT_S
    tier_timeouts_s: dict[str, int] = msgspec.field(default_factory=dict)
    notify: bool = True


class GetCleanupRun(Command):
    """Read the progress of a cleanup and, once it has ended, the users whose tests it cleaned, from this offset on."""

    run_id: str
    users_from: int = 0


class ReportCleanupFailed(Command):
    """Raise an alert because a cleanup could not be started, or did not end."""

    reason: str


AnalysisCommand = (
    RegisterUser
    | ChangeUser
    | StartTest
    | CompleteTest
    | FailTest
    | RecordTest
    | ChangeTest
    | Cleanup
    | GetCleanupRun
    | ReportCleanupFailed
    | ReportLimited
    | AlertCommand
    | Tick
)
