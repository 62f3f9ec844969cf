"""Events of analyses and of users' balances. Additive only.

`UserRegistered`, `TestsGranted`, `TestsAdjusted`, `TestCharged` and `TestRefunded` are the ledger: a user's balance is
their sum, and each of them carries the new balance.
"""

from __future__ import annotations

from datetime import datetime

from drover.domain.alerts import (
    AlertAcknowledged,
    AlertRaised,
    AlertResolved,
    AlertSnoozed,
    AlertSnoozeEnded,
)
from drover.domain.event import Event, TermStarted


class UserRegistered(Event):
    user_id: str
    tier: str
    remaining_tests: int


class UserTierChanged(Event):
    user_id: str
    tier: str


class UserFrozen(Event):
    """The user was frozen: nothing is charged or refunded until the user is unfrozen."""

    user_id: str


class UserUnfrozen(Event):
    user_id: str


class TestsGranted(Event):
    user_id: str
    tests: int
    remaining_tests: int


class TestsAdjusted(Event):
    """A caller wrote the user's balance, for example to charge for a test that it has recorded by itself."""

    user_id: str
    tests: int
    """The new balance minus the old one."""
    remaining_tests: int


class TestStarted(Event):
    """The test is now `processing`."""

    test_id: str
    user_id: str


class TestCharged(Event):
    """A test was charged to its user. Always recorded together with `TestStarted`."""

    test_id: str
    user_id: str
    remaining_tests: int


class TestRecorded(Event):
    """A caller wrote a test as a row; it is now `processing`. The caller charges for it: see `TestsAdjusted`."""

    test_id: str
    user_id: str
    created_at: datetime
    """When the test was started. Cleanups measure its age from here."""


class TestCompleted(Event):
    test_id: str
    user_id: str
    result_ref: str | None
    """Where the worker keeps the result. The result itself is personal and is never stored here."""


class TestFailed(Event):
    test_id: str
    user_id: str
    reason: str
    """Who failed the test. `worker`: its worker reported a failure. `timeout`: a cleanup found the test stalled.
    `caller`: a caller wrote `failed` into the row, and refunds by writing the user's balance."""
    error_code: str | None
    error_message: str | None
    run_id: str | None
    """The cleanup that failed the test. None: no cleanup did."""


class TestRefunded(Event):
    """A test was refunded, at most once. Recorded together with `TestFailed`, unless a `caller` failed the test."""

    test_id: str
    user_id: str
    remaining_tests: int
    run_id: str | None


class TestSkipped(Event):
    """The test was to be failed and refunded, but its user cannot get a refund now. It stays `processing`."""

    test_id: str
    user_id: str
    reason: str
    """`frozen`: its user is frozen. `full`: a refund would exceed the maximum balance."""
    run_id: str | None
    """The cleanup that skipped the test. None: its worker reported a failure."""


class LateReportRefused(Event):
    """A worker's report contradicts how the test ended. Recorded once for each test, without effect."""

    test_id: str
    user_id: str
    reported: str
    status: str
    refunded: bool


class TestArchived(Event):
    """The test left the decider's state; the read model keeps it."""

    test_id: str


class CleanupRunStarted(Event):
    """A cleanup started. It handles every running test that was started before `started_before`, or before the time
    that `tiers_started_before` has for its user's tier."""

    run_id: str
    trigger: str
    """Who requested the cleanup: `cron` or `manual`."""
    scheduled_for: datetime | None
    """The scheduled time of a run by cron."""
    started_before: datetime
    tiers_started_before: dict[str, datetime]
    """For each tier with a time limit of its own: tests that were started before this time are stalled."""
    notify: bool
    """Whether to notify the users whose tests the cleanup refunds."""


class CleanupRunFinished(Event):
    run_id: str
    cleaned: int
    skipped: int
    users: int
    duration_ms: int


class UserNotificationRequested(Event):
    """A user is to be notified that a cleanup refunded some of the user's tests."""

    notification_id: str
    """The id of the notification, the same for every retry, so that the receiver can drop duplicates."""
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
    | TestsAdjusted
    | TestStarted
    | TestRecorded
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
    | AlertAcknowledged
    | AlertSnoozed
    | AlertSnoozeEnded
)
