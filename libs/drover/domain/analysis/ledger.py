"""Charges and refunds: the only places where a test's start or end changes a user's balance."""

from __future__ import annotations

from drover.domain.analysis.events import TestCharged, TestFailed, TestRefunded, TestSkipped, TestStarted
from drover.domain.analysis.policy import REMAINING_MAX, TIMED_OUT_MESSAGE
from drover.domain.analysis.state import Analyses, Underway, User
from drover.domain.event import Event

FROZEN = "frozen"
FULL = "full"
WORKER = "worker"
TIMEOUT = "timeout"
CALLER = "caller"


def charge(user: User, test_id: str) -> list[Event]:
    return [TestStarted(test_id, user.user_id), TestCharged(test_id, user.user_id, user.remaining - 1)]


def why_no_refund(user: User) -> str | None:
    """Return why the user cannot get a refund now; None if they can. A report of a worker, or a cleanup, fails a test
    only if it can refund it in the same commit."""
    if user.frozen:
        return FROZEN
    return FULL if user.remaining >= REMAINING_MAX else None


def give_back(user: User, test: Underway, failed: TestFailed) -> list[Event]:
    return [failed, TestRefunded(test.test_id, user.user_id, user.remaining + 1, failed.run_id)]


def time_out(analyses: Analyses, test: Underway, run_id: str) -> list[Event]:
    """Fail and refund a stalled test that a cleanup found. If a refund is impossible, record that the test is
    skipped."""
    user = analyses.users[test.user_id]
    if reason := why_no_refund(user):
        return [TestSkipped(test.test_id, test.user_id, reason, run_id)]
    return give_back(user, test, TestFailed(test.test_id, test.user_id, TIMEOUT, None, TIMED_OUT_MESSAGE, run_id))
