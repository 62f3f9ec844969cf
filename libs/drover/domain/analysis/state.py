"""What the decider of analyses knows: users, tests under way or ended within a day, and the cleanup at work."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from drover.domain.timers import Timers


class TestStatus(StrEnum):
    __test__ = False  # not one of pytest's

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
    frozen: bool = False
    under_way: dict[str, None] = {}
    """Tests."""

    @property
    def remaining(self) -> int:
        return self.initial + self.granted - self.charged + self.refunded


class Underway(msgspec.Struct):
    """A test that is `processing`. Ended ones leave only an `Ended`."""

    test_id: str
    user_id: str
    started_at: datetime
    skipped: str | None = None
    """Why its failure could not be made good: the last reason on record."""


class Ended(msgspec.Struct, array_like=True, gc=False):
    """What is left of a test for a day, so that late reports are told the truth."""

    user_id: str
    status: TestStatus
    refunded: bool
    late_noted: bool = False


class Run(msgspec.Struct):
    """A cleanup: the one at work, or one that ended lately."""

    run_id: str
    trigger: str
    started_at: datetime
    started_before: datetime
    tiers_started_before: dict[str, datetime]
    notify: bool
    cleaned: int = 0
    skipped: int = 0
    tests_of: dict[str, int] = {}
    """User to how many of their tests it cleaned."""
    users: list[str] = []
    """The same users in the order in which they came up, so that a part of the list costs its own length only."""
    notified: int = 0
    """How far down that list users have been told."""
    duration_ms: int | None = None
    """None: it is still at work."""

    def stalled_before(self, tier: str) -> datetime:
        return self.tiers_started_before.get(tier, self.started_before)


class Analyses(msgspec.Struct):
    users: dict[str, User] = {}
    tiers: dict[str, int] = {}
    """Users of each."""
    tests: dict[str, Underway] = {}
    ended: dict[str, Ended] = {}
    waiting: dict[str, Timers] = {}
    """By tier: tests under way that no cleanup has found stalled, by their start."""
    blocked: Timers = msgspec.field(default_factory=Timers)
    """Tests that a cleanup found stalled and had to skip, by when it did. Found once, they stay stalled."""
    run: Run | None = None
    runs: dict[str, Run] = {}
    """Those that ended lately."""
    cron_at: datetime | None = None
    """Which run by cron was the last."""
    cron_run: str | None = None
    alerts: dict[str, str] = {}
    """Open ones: `kind:subject` to id."""
    timers: Timers = msgspec.field(default_factory=Timers)
