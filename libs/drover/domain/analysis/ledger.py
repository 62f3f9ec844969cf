"""Charging a test and giving it back: the only places where a user's balance changes by what happens to tests."""

from __future__ import annotations

from drover.domain.analysis.events import TestCharged, TestFailed, TestRefunded, TestSkipped, TestStarted
from drover.domain.analysis.policy import REMAINING_MAX, TIMED_OUT_MESSAGE
from drover.domain.analysis.state import Analyses, Underway, User
from drover.domain.event import Event

FROZEN = "frozen"
FULL = "full"
WORKER = "worker"
TIMEOUT = "timeout"


def charge(user: User, test_id: str) -> list[Event]:
    return [TestStarted(test_id, user.user_id), TestCharged(test_id, user.user_id, user.remaining - 1)]


def why_no_refund(user: User) -> str | None:
    """A test is failed only together with its refund; so where this gives a reason, it is not failed either."""
    if user.frozen:
        return FROZEN
    return FULL if user.remaining >= REMAINING_MAX else None


def give_back(user: User, test: Underway, failed: TestFailed) -> list[Event]:
    return [failed, TestRefunded(test.test_id, user.user_id, user.remaining + 1, failed.run_id)]


def time_out(analyses: Analyses, test: Underway, run_id: str) -> list[Event]:
    """A stalled test, found by a cleanup."""
    user = analyses.users[test.user_id]
    if reason := why_no_refund(user):
        return [TestSkipped(test.test_id, test.user_id, reason, run_id)]
    return give_back(user, test, TestFailed(test.test_id, test.user_id, TIMEOUT, None, TIMED_OUT_MESSAGE, run_id))
