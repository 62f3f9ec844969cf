"""What can be asked about analyses. What an operator can set travels in the command, so that rules know no settings."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from drover.domain.analysis.policy import TIER_DEFAULT, TIMEOUT_DEFAULT_S
from drover.domain.decider import Command, Tick

CRON: Final = "cron"
MANUAL: Final = "manual"


class RegisterUser(Command):
    user_id: str
    remaining_tests: int = 0
    tier: str = TIER_DEFAULT


class ChangeUser(Command):
    """By the back office. What is None stays."""

    user_id: str
    tier: str | None = None
    frozen: bool | None = None
    grant_tests: int | None = None


class StartTest(Command):
    test_id: str
    user_id: str


class CompleteTest(Command):
    test_id: str
    result_ref: str | None = None


class FailTest(Command):
    """Its worker could not do it. That gives the test back."""

    test_id: str
    error_code: str | None = None
    error_message: str | None = None


class Cleanup(Command):
    """Fail what is stalled and give it back. While another one runs, its caller is told of that one."""

    run_id: str
    trigger: str = MANUAL
    scheduled_for: datetime | None = None
    """Of a run by cron: which one. Asked for twice, it runs once."""
    timeout_s: int = TIMEOUT_DEFAULT_S
    tier_timeouts_s: dict[str, int] = msgspec.field(default_factory=dict)
    notify: bool = True


class GetCleanupRun(Command):
    """How far it is; and when it has ended, its users from this place of their list on."""

    run_id: str
    users_from: int = 0


class ReportCleanupFailed(Command):
    """A cleanup could not even be asked for, or did not end: somebody should know."""

    reason: str


AnalysisCommand = (
    RegisterUser
    | ChangeUser
    | StartTest
    | CompleteTest
    | FailTest
    | Cleanup
    | GetCleanupRun
    | ReportCleanupFailed
    | Tick
)
