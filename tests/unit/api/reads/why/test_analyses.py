"""Why a test is not finished, or how it ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from drover.api.reads.why.analyses import TestQuestion, why_test
from drover.domain.analysis.state import TestStatus
from drover.readmodel.analysis.users import TestRow

pytestmark = pytest.mark.req("EV-05")

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
HALF_AN_HOUR = timedelta(minutes=30)


def row(**columns) -> TestRow:
    none = dict.fromkeys(
        ("reason", "error_code", "error_message", "result_ref", "cleanup_run_id", "skipped", "late_report")
    )
    some = {
        "id": UUID(int=1),
        "user_id": "ann",
        "status": TestStatus.PROCESSING,
        "refunded": False,
        "created_at": NOW - timedelta(minutes=10),
        "updated_at": NOW,
        "completed_at": None,
    }
    return TestRow(**none | some | columns)


def codes(test: TestRow, **more) -> list[str]:
    return [one.data["code"] for one in why_test(TestQuestion(test=test, **more), NOW)]


def test_a_test_that_runs_says_until_when():
    reasons = why_test(TestQuestion(test=row(), limit=HALF_AN_HOUR), NOW)
    assert [one.data["code"] for one in reasons] == ["test_running", "test_may_take"]
    assert reasons[1].data["until"] == "2026-11-18T12:20:00Z"


def test_an_overdue_test_waits_for_the_next_cleanup():
    late = row(created_at=NOW - timedelta(hours=1))
    assert codes(late, limit=HALF_AN_HOUR) == ["test_overdue", "test_running"]
    skipped = row(created_at=NOW - timedelta(hours=1), skipped="user_frozen")
    assert codes(skipped, limit=HALF_AN_HOUR) == ["test_skipped", "test_overdue", "test_running"]


def test_without_any_cleanup_nothing_would_end_it():
    assert codes(row(created_at=NOW - timedelta(days=2))) == ["test_running", "test_no_cleanup"]


@pytest.mark.parametrize("reason", ["worker", "timeout", "caller", None, "something new"])
def test_a_failed_test_says_who_ended_it_and_whether_it_was_refunded(reason):
    failed = row(status=TestStatus.FAILED, reason=reason, refunded=reason == "timeout", completed_at=NOW)
    balance = "test_refunded" if reason == "timeout" else "test_not_refunded"
    assert codes(failed) == ["test_failed", balance]
    assert "None" not in "".join(one.sentence for one in why_test(TestQuestion(test=failed), NOW))


def test_a_late_report_is_named():
    assert codes(row(status=TestStatus.COMPLETED, completed_at=NOW, late_report="failed")) == [
        "test_completed",
        "test_late_report",
    ]
