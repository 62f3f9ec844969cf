"""State of the decider of analyses: users, tests running or ended within a day, and the running cleanup."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from drover.domain.alerts import Snooze
from drover.domain.past import Past
from drover.domain.quota import DailyUse
from drover.domain.timers import Timers


class TestStatus(StrEnum):
    __test__ = False  # not a test class of pytest

    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"


class User(msgspec.Struct):
    user_id: str
    tier: str
    initial: int
    created_at: datetime
    granted: int = 0
    charged: int = 0
    refunded: int = 0
    adjusted: int = 0
    """The sum of all changes of the balance by callers that wrote it."""
    frozen: bool = False
    under_way: dict[str, None] = {}
    """Ids of running tests."""

    @property
    def remaining(self) -> int:
        return self.initial + self.granted + self.adjusted - self.charged + self.refunded


class Underway(msgspec.Struct):
    """A test that is `processing`. After its end only an `Ended` remains."""

    test_id: str
    user_id: str
    started_at: datetime
    skipped: str | None = None
    """Why the last attempt to fail and refund this test was impossible (`TestSkipped.reason`). None: there was no such
    attempt."""


class Ended(msgspec.Struct, array_like=True, gc=False):
    """What the state keeps of an ended test for a while, to answer late reports."""

    user_id: str
    status: TestStatus
    refunded: bool
    late_noted: bool = False


class Run(msgspec.Struct):
    """A cleanup: the running one, or one that ended recently."""

    run_id: str
    trigger: str
    started_at: datetime
    started_before: datetime
    tiers_started_before: dict[str, datetime]
    notify: bool
    cleaned: int = 0
    skipped: int = 0
    tests_of: dict[str, int] = {}
    """By user, the number of tests that the cleanup failed and refunded."""
    users: list[str] = []
    """The users of `tests_of` in the order in which they were added, so that one page of them can be read without a
    search."""
    notified: int = 0
    """How many of `users` have been notified, from the first on."""
    duration_ms: int | None = None
    """How long the cleanup took. None: it is still running."""

    def stalled_before(self, tier: str) -> datetime:
        return self.tiers_started_before.get(tier, self.started_before)


class Analyses(msgspec.Struct):
    users: dict[str, User] = {}
    tiers: dict[str, int] = {}
    """Number of users by tier."""
    tests: dict[str, Underway] = {}
    ended: dict[str, Ended] = {}
    past: Past = msgspec.field(default_factory=Past)
    """Keeps the number of tests in `ended` within its bound: the oldest are archived earlier if there are too many."""
    waiting: dict[str, Timers] = {}
    """By tier: the running tests that no cleanup has found stalled, each with the time when it was started."""
    blocked: Timers = msgspec.field(default_factory=Timers)
    """Stalled tests that a cleanup had to skip, because they could not be refunded, each with the time when it was
    skipped. The next cleanup tries them again."""
    run: Run | None = None
    runs: dict[str, Run] = {}
    """Cleanups that ended recently."""
    cron_at: datetime | None = None
    """The scheduled time of the last run by cron."""
    cron_run: str | None = None
    alerts: dict[str, str] = {}
    """The open alerts: `kind:subject` to the alert's id."""
    snoozes: dict[str, Snooze] = {}
    timers: Timers = msgspec.field(default_factory=Timers)
    use: DailyUse = msgspec.field(default_factory=DailyUse)
