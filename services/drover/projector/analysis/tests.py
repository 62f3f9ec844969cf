"""Rows of tests and their outcomes. The rows stay after the writer has dropped the tests from its state."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from drover.domain.analysis import events as e
from drover.domain.analysis.state import TestStatus
from drover.projection.projection import Tables, change
from drover.projection.rule import Rule, Rules, change_no_row
from drover.projector.analysis.keys import run_of, test_of, user_of
from drover.projector.analysis.users import refunded
from drover.readmodel.analysis.users import TESTS, USERS, TestRow


def _started(tables: Tables, event: e.TestStarted) -> None:
    _put(tables, event, created_at=event.at)


def _recorded(tables: Tables, event: e.TestRecorded) -> None:
    _put(tables, event, created_at=event.created_at)


def _put(tables: Tables, event: Any, *, created_at: datetime) -> None:
    row = TestRow(
        id=test_of(event),
        user_id=event.user_id,
        status=TestStatus.PROCESSING,
        reason=None,
        error_code=None,
        error_message=None,
        result_ref=None,
        refunded=False,
        cleanup_run_id=None,
        skipped=None,
        late_report=None,
        created_at=created_at,
        updated_at=event.at,
        completed_at=None,
    )
    tables.put(TESTS, row)


def _change(tables: Tables, event: Any, **fields: Any) -> None:
    change(tables, TESTS, test_of(event), updated_at=event.at, **fields)


def _completed(tables: Tables, event: e.TestCompleted) -> None:
    _change(
        tables,
        event,
        status=TestStatus.COMPLETED,
        result_ref=event.result_ref,
        skipped=None,
        completed_at=event.at,
    )


def _failed(tables: Tables, event: e.TestFailed) -> None:
    _change(
        tables,
        event,
        status=TestStatus.FAILED,
        reason=event.reason,
        error_code=event.error_code,
        error_message=event.error_message,
        cleanup_run_id=run_of(event),
        skipped=None,
        completed_at=event.at,
    )


def _refunded(tables: Tables, event: e.TestRefunded) -> None:
    refunded(tables, event)
    _change(tables, event, refunded=True)


def _skipped(tables: Tables, event: e.TestSkipped) -> None:
    _change(tables, event, skipped=event.reason)


def _late(tables: Tables, event: e.LateReportRefused) -> None:
    _change(tables, event, late_report=event.reported)


_TEST: Final = ((TESTS, test_of),)

TEST_RULES: Final[Rules] = {
    e.TestStarted: Rule(_started, lambda e: (e.test_id, e.user_id)),
    e.TestRecorded: Rule(_recorded, lambda e: (e.test_id, e.user_id)),
    e.TestCompleted: Rule(_completed, lambda e: (e.test_id, e.user_id), _TEST),
    e.TestFailed: Rule(_failed, lambda e: (e.test_id, e.user_id), _TEST),
    e.TestRefunded: Rule(_refunded, lambda e: (e.test_id, e.user_id), ((TESTS, test_of), (USERS, user_of))),
    e.TestSkipped: Rule(_skipped, lambda e: (e.test_id, e.user_id), _TEST),
    e.LateReportRefused: Rule(_late, lambda e: (e.test_id, e.user_id), _TEST),
    e.TestArchived: Rule(change_no_row, lambda e: (e.test_id,)),
}
