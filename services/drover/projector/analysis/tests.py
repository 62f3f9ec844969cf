"""Rows of tests and their outcomes. They stay after the decider has forgotten the tests."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from drover.domain.analysis import events as e
from drover.domain.analysis.state import TestStatus
from drover.projection.projection import Tables, need
from drover.projection.rule import Rule, Rules
from drover.projector.analysis.keys import run_of, test_of, user_of
from drover.projector.analysis.users import refunded
from drover.readmodel.analysis.users import TESTS, USERS, TestRow


def _started(tables: Tables, event: e.TestStarted) -> None:
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
        created_at=event.at,
        updated_at=event.at,
        completed_at=None,
    )
    tables.put(TESTS, row)


def _completed(tables: Tables, event: e.TestCompleted) -> None:
    test = need(tables, TESTS, test_of(event))
    completed = replace(
        test,
        status=TestStatus.COMPLETED,
        result_ref=event.result_ref,
        skipped=None,
        updated_at=event.at,
        completed_at=event.at,
    )
    tables.put(TESTS, completed)


def _failed(tables: Tables, event: e.TestFailed) -> None:
    test = need(tables, TESTS, test_of(event))
    failed = replace(
        test,
        status=TestStatus.FAILED,
        reason=event.reason,
        error_code=event.error_code,
        error_message=event.error_message,
        cleanup_run_id=run_of(event),
        skipped=None,
        updated_at=event.at,
        completed_at=event.at,
    )
    tables.put(TESTS, failed)


def _refunded(tables: Tables, event: e.TestRefunded) -> None:
    refunded(tables, event)
    test = need(tables, TESTS, test_of(event))
    tables.put(TESTS, replace(test, refunded=True, updated_at=event.at))


def _skipped(tables: Tables, event: e.TestSkipped) -> None:
    test = need(tables, TESTS, test_of(event))
    tables.put(TESTS, replace(test, skipped=event.reason, updated_at=event.at))


def _late(tables: Tables, event: e.LateReportRefused) -> None:
    test = need(tables, TESTS, test_of(event))
    tables.put(TESTS, replace(test, late_report=event.reported, updated_at=event.at))


def _archived(tables: Tables, event: e.TestArchived) -> None:
    """Only matters to the decider."""


_TEST: Final = ((TESTS, test_of),)

TEST_RULES: Final[Rules] = {
    e.TestStarted: Rule(_started, lambda e: (e.test_id, e.user_id)),
    e.TestCompleted: Rule(_completed, lambda e: (e.test_id, e.user_id), _TEST),
    e.TestFailed: Rule(_failed, lambda e: (e.test_id, e.user_id), _TEST),
    e.TestRefunded: Rule(_refunded, lambda e: (e.test_id, e.user_id), ((TESTS, test_of), (USERS, user_of))),
    e.TestSkipped: Rule(_skipped, lambda e: (e.test_id, e.user_id), _TEST),
    e.LateReportRefused: Rule(_late, lambda e: (e.test_id, e.user_id), _TEST),
    e.TestArchived: Rule(_archived, lambda e: (e.test_id,)),
}
