"""Tests that callers write as rows of `saju_tests`. These callers charge and refund by writing `remaining_tests`.

A caller that fails a test refunds it itself. If a worker's report or a cleanup fails the test, Drover refunds it. A
test ends once, so it is refunded at most once.
"""

from __future__ import annotations

from datetime import UTC, datetime

from drover.domain.analysis.commands import ChangeTest, RecordTest
from drover.domain.analysis.events import TestCompleted, TestFailed, TestRecorded
from drover.domain.analysis.ledger import CALLER
from drover.domain.analysis.lifecycle import find_under_way, why_no_start
from drover.domain.analysis.policy import MESSAGE_BYTES_MAX, RESULT_REF_BYTES_MAX
from drover.domain.analysis.state import Analyses, TestStatus
from drover.domain.analysis.users import unknown_user
from drover.domain.decider import NOTHING, Decision, accept, reject
from drover.domain.errors import Code
from drover.domain.event import Event
from drover.domain.texts import cut


def record_test(analyses: Analyses, command: RecordTest, now: datetime) -> Decision:
    user = analyses.users.get(command.user_id)
    if user is None:
        return unknown_user(command.user_id)
    if refusal := why_no_start(analyses, user, command.test_id):
        return refusal
    # A start in the future means that the caller's clock is wrong, so our time is taken.
    created_at = now if command.created_at is None else min(command.created_at, now).astimezone(UTC)
    ended = [] if command.status is TestStatus.PROCESSING else [_end(command, user.user_id)]
    return accept(TestRecorded(command.test_id, user.user_id, created_at), *ended)


def change_test(analyses: Analyses, command: ChangeTest, now: datetime) -> Decision:
    status, refunded = _status(analyses, command.test_id)
    if status is not None and command.only_if not in (None, status):
        return reject(Code.CONFLICT, f"The test is {status} by now", status=status.value)
    if status is command.status and not refunded:
        # It has this status already. A refunded test is refused below, or its caller would refund it again.
        return NOTHING
    found = find_under_way(analyses, command.test_id, command.status)
    return found if isinstance(found, Decision) else accept(_end(command, found.user_id))


def _status(analyses: Analyses, test_id: str) -> tuple[TestStatus | None, bool]:
    """Return the status of a test (None if it is unknown), and whether it was refunded."""
    if test_id in analyses.tests:
        return TestStatus.PROCESSING, False
    ended = analyses.ended.get(test_id)
    return (None, False) if ended is None else (ended.status, ended.refunded)


def _end(command: RecordTest | ChangeTest, user_id: str) -> Event:
    if command.status is TestStatus.COMPLETED:
        return TestCompleted(command.test_id, user_id, cut(command.result_ref, RESULT_REF_BYTES_MAX))
    message = cut(command.error_message, MESSAGE_BYTES_MAX)
    return TestFailed(command.test_id, user_id, CALLER, command.error_code, message, None)
