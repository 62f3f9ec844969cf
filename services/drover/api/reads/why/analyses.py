"""Explains a test's status: how long it may take, who ended it, and whether its user got it back. Pure: it gets rows
and the time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

from drover.domain.analysis.state import TestStatus
from drover.domain.fleet.why.formatting import Reason, moment, reason
from drover.readmodel.analysis.users import TestRow


class TestQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known about a test and what is around it."""

    __test__ = False  # not a pytest class

    test: TestRow
    limit: timedelta | None = None
    """How long a test of this user's tier may take, by the latest cleanup. None: there was none yet."""
    cleaned_at: datetime | None = None
    """When the latest cleanup began."""


def why_test(question: TestQuestion, now: datetime) -> list[Reason]:
    test = question.test
    if test.status == TestStatus.PROCESSING:
        return _running(question, now)
    at = test.completed_at or test.updated_at
    if test.status == TestStatus.COMPLETED:
        return [reason("test_completed", f"It completed at {moment(at)}.", ended_at=at), *_late(test)]
    return [_failed(test, at), _balance(test), *_late(test)]


def _running(question: TestQuestion, now: datetime) -> list[Reason]:
    test, limit = question.test, question.limit
    started = reason(
        "test_running",
        f"It has been running since {moment(test.created_at)}, and no worker has reported its result.",
        since=test.created_at,
    )
    if limit is None:
        return [started, reason("test_no_cleanup", "No cleanup has run yet, so nothing ends it if its worker is lost.")]
    until = test.created_at + limit
    if until > now:
        sentence = f"If it is not finished at {moment(until)}, the next cleanup fails it and refunds its user."
        return [started, reason("test_may_take", sentence, until=until, seconds=int(limit.total_seconds()))]
    skipped = []
    if test.skipped is not None:
        sentence = f"The last cleanup could not refund it: {test.skipped}. The next one tries again."
        skipped.append(reason("test_skipped", sentence, rule=test.skipped))
    sentence = f"It is overdue since {moment(until)}: the next cleanup fails it and refunds its user."
    overdue = reason("test_overdue", sentence, until=until, cleaned_at=question.cleaned_at)
    return [*skipped, overdue, started]


_WHO: Final = {
    "worker": "Its worker reported the failure",
    "timeout": "It was not finished in time, and a cleanup failed it",
    "caller": "A program wrote that it failed",
    None: "It failed",
}


def _failed(test: TestRow, at: datetime) -> Reason:
    code = f" ({test.error_code})" if test.error_code else ""
    said = f": {test.error_message.rstrip('.')}" if test.error_message else ""
    return reason(
        "test_failed",
        f"{_WHO.get(test.reason, _WHO[None])} at {moment(at)}{code}{said}.",
        ended_at=at,
        rule=test.reason,
        error_code=test.error_code,
        message=test.error_message,
    )


def _balance(test: TestRow) -> Reason:
    if test.refunded:
        return reason("test_refunded", "Its user got the test back.", user_id=test.user_id)
    why = f": {test.skipped}" if test.skipped else ""
    return reason(
        "test_not_refunded", f"Its user did not get the test back{why}.", user_id=test.user_id, rule=test.skipped
    )


def _late(test: TestRow) -> list[Reason]:
    if test.late_report is None:
        return []
    sentence = f"A worker reported {test.late_report} after its end; that changed nothing."
    return [reason("test_late_report", sentence, reported=test.late_report)]
