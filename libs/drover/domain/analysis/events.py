"""What can happen to analyses and to what users have left of them. Additive only.

The ledger is `UserRegistered`, `TestsGranted`, `TestCharged` and `TestRefunded`: what a user has left is their sum, and
each of them says what that sum then is.
"""

from __future__ import annotations

from datetime import datetime

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.event import Event, TermStarted


class UserRegistered(Event):
    user_id: str
    tier: str
    remaining_tests: int


class UserTierChanged(Event):
    user_id: str
    tier: str


class UserFrozen(Event):
    """Nothing is charged and nothing is given back until somebody ends it."""

    user_id: str


class UserUnfrozen(Event):
    user_id: str


class TestsGranted(Event):
    user_id: str
    tests: int
    remaining_tests: int


class TestStarted(Event):
    """It is `processing` from now on."""

    test_id: str
    user_id: str


class TestCharged(Event):
    """Always beside `TestStarted`."""

    test_id: str
    user_id: str
    remaining_tests: int


class TestCompleted(Event):
    test_id: str
    user_id: str
    result_ref: str | None
    """Where the worker keeps the result. The result itself, which is personal, never comes here."""


class TestFailed(Event):
    test_id: str
    user_id: str
    reason: str
    """`worker`: it said so. `timeout`: a cleanup found it stalled."""
    error_code: str | None
    error_message: str | None
    run_id: str | None
    """The cleanup."""


class TestRefunded(Event):
    """Always beside `TestFailed`, and once for a test."""

    test_id: str
    user_id: str
    remaining_tests: int
    run_id: str | None


class TestSkipped(Event):
    """It should have been failed, but what it cost cannot be given back now. It stays `processing`."""

    test_id: str
    user_id: str
    reason: str
    """`frozen`: its user is. `full`: its user would have more than can be counted."""
    run_id: str | None
    """The cleanup; None: its worker reported a failure."""


class LateReportRefused(Event):
    """A worker says otherwise than what the test's end was. Written down once for each test, without any effect."""

    test_id: str
    user_id: str
    reported: str
    status: str
    refunded: bool


class TestArchived(Event):
    """The decider has forgotten it; the read model has not."""

    test_id: str


class CleanupRunStarted(Event):
    """Every test that was started before its tier's moment, and is still under way, is stalled."""

    run_id: str
    trigger: str
    """`cron` or `manual`."""
    scheduled_for: datetime | None
    """Of a run by cron: which one."""
    started_before: datetime
    tiers_started_before: dict[str, datetime]
    """Where a tier has a moment of its own."""
    notify: bool
    """Whether the users are told."""


class CleanupRunFinished(Event):
    run_id: str
    cleaned: int
    skipped: int
    users: int
    duration_ms: int


class UserNotificationRequested(Event):
    """A user is to be told that a cleanup gave tests back."""

    notification_id: str
    """The same however often it is sent, so that the other side can drop repeats."""
    user_id: str
    run_id: str
    tests: int


AnalysisEvent = (
    TermStarted
    | UserRegistered
    | UserTierChanged
    | UserFrozen
    | UserUnfrozen
    | TestsGranted
    | TestStarted
    | TestCharged
    | TestCompleted
    | TestFailed
    | TestRefunded
    | TestSkipped
    | LateReportRefused
    | TestArchived
    | CleanupRunStarted
    | CleanupRunFinished
    | UserNotificationRequested
    | AlertRaised
    | AlertResolved
)
