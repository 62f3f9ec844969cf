"""Start and end of tests. A report that contradicts a test's end is refused and recorded once, without effect."""

from __future__ import annotations

from datetime import datetime

from drover.domain.analysis.commands import CompleteTest, FailTest, StartTest
from drover.domain.analysis.events import LateReportRefused, TestCompleted, TestFailed, TestSkipped
from drover.domain.analysis.ledger import WORKER, charge, give_back, why_no_refund
from drover.domain.analysis.policy import MESSAGE_BYTES_MAX, RESULT_REF_BYTES_MAX, UNDER_WAY_PER_USER_MAX
from drover.domain.analysis.state import Analyses, Ended, TestStatus, Underway, User
from drover.domain.analysis.users import unknown_user
from drover.domain.decider import Decision, Rejection, accept, refuse_recording, reject
from drover.domain.errors import Code
from drover.domain.texts import cut


def start_test(analyses: Analyses, command: StartTest, now: datetime) -> Decision:
    user = analyses.users.get(command.user_id)
    if user is None:
        return unknown_user(command.user_id)
    if refusal := why_no_start(analyses, user, command.test_id):
        return refusal
    if user.remaining <= 0:
        return reject(Code.NO_TESTS_LEFT, "No tests are left", user_id=user.user_id, remaining_tests=0)
    return accept(*charge(user, command.test_id))


def why_no_start(analyses: Analyses, user: User, test_id: str) -> Decision | None:
    """Return the refusal of a new test. None: it may start. Does not check the balance."""
    if test_id in analyses.tests or test_id in analyses.ended:
        return reject(Code.UNIQUE_VIOLATION, "There is a test with this id already", field="id", value=test_id)
    if user.frozen:
        return reject(Code.CONFLICT, "The user is frozen", user_id=user.user_id)
    if len(user.under_way) >= UNDER_WAY_PER_USER_MAX:
        message = f"{UNDER_WAY_PER_USER_MAX} tests of this user are running, which is the maximum"
        return reject(Code.CONFLICT, message, user_id=user.user_id)
    return None


def complete_test(analyses: Analyses, command: CompleteTest, now: datetime) -> Decision:
    test = find_under_way(analyses, command.test_id, TestStatus.COMPLETED)
    if isinstance(test, Decision):
        return test
    return accept(TestCompleted(test.test_id, test.user_id, cut(command.result_ref, RESULT_REF_BYTES_MAX)))


def fail_test(analyses: Analyses, command: FailTest, now: datetime) -> Decision:
    test = find_under_way(analyses, command.test_id, TestStatus.FAILED)
    if isinstance(test, Decision):
        return test
    user = analyses.users[test.user_id]
    if reason := why_no_refund(user):
        # Record this refusal only once: the worker may report the failure again, and each cleanup tries again.
        skipped = TestSkipped(test.test_id, test.user_id, reason, None)
        rejection = skipped_rejection(skipped)
        return Decision(rejection=rejection) if test.skipped == reason else refuse_recording(rejection, skipped)
    message = cut(command.error_message, MESSAGE_BYTES_MAX)
    failed = TestFailed(test.test_id, test.user_id, WORKER, command.error_code, message, None)
    return accept(*give_back(user, test, failed))


def find_under_way(analyses: Analyses, test_id: str, reported: TestStatus) -> Underway | Decision:
    """Find the running test that a report is about. If it is not running, return the refusal of the report."""
    if test := analyses.tests.get(test_id):
        return test
    ended = analyses.ended.get(test_id)
    if ended is None:
        return reject(Code.NOT_FOUND, "Test not found", test_id=test_id)
    if ended.status is reported:
        return reject(Code.CONFLICT, f"Test already {ended.status}", status=ended.status.value)
    return _too_late(test_id, ended, reported)


def _too_late(test_id: str, ended: Ended, reported: TestStatus) -> Decision:
    refused = LateReportRefused(test_id, ended.user_id, reported.value, ended.status.value, ended.refunded)
    rejection = late_rejection(refused)
    return Decision(rejection=rejection) if ended.late_noted else refuse_recording(rejection, refused)


def late_rejection(event: LateReportRefused) -> Rejection:
    refunded = " and was refunded" if event.refunded else ""
    details = {"status": event.status, "refunded": event.refunded}
    return Rejection(Code.STALE_ATTEMPT, f"The test has {event.status}{refunded}; this report is too late", details)


def skipped_rejection(event: TestSkipped) -> Rejection:
    message = "The test cannot be refunded now, so it stays processing; a cleanup will retry"
    return Rejection(Code.CONFLICT, message, {"reason": event.reason})
