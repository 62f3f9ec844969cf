"""Makes the answer to a command from the events that it recorded, and from nothing else. So a repeated command gets the
same answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from drover.domain.analysis import events as e
from drover.domain.analysis.cleanup import asked_for
from drover.domain.analysis.lifecycle import late_rejection, skipped_rejection
from drover.domain.analysis.state import TestStatus
from drover.domain.rules import answer_by


def _registered(event: e.UserRegistered, events: Sequence[e.AnalysisEvent]) -> dict[str, Any]:
    return {
        "id": event.user_id,
        "tier": event.tier,
        "remaining_tests": event.remaining_tests,
        "frozen": any(isinstance(other, e.UserFrozen) for other in events),
        "created_at": event.at,
        "updated_at": event.at,
    }


def _changed(event: Any, events: Sequence[e.AnalysisEvent]) -> dict[str, Any]:
    """Answer a command that changed a user: with the user's id, and with the new values of the changed fields only."""
    told: dict[str, Any] = {"id": event.user_id, "updated_at": event.at}
    for other in events:
        if isinstance(other, e.UserTierChanged):
            told["tier"] = other.tier
        elif isinstance(other, e.TestsGranted | e.TestsAdjusted):
            told["remaining_tests"] = other.remaining_tests
        elif isinstance(other, e.UserFrozen | e.UserUnfrozen):
            told["frozen"] = isinstance(other, e.UserFrozen)
    return told


def _started(event: e.TestStarted, events: Sequence[e.AnalysisEvent]) -> dict[str, Any]:
    charged = next(other for other in events if isinstance(other, e.TestCharged))
    return {
        **_test(event, TestStatus.PROCESSING),
        "created_at": event.at,
        "updated_at": event.at,
        "remaining_tests": charged.remaining_tests,
    }


def _recorded(event: e.TestRecorded, events: Sequence[e.AnalysisEvent]) -> dict[str, Any]:
    _, *ends = events
    begun = {**_test(event, TestStatus.PROCESSING), "created_at": event.created_at, "updated_at": event.at}
    return begun | (answer(ends) or {})


def _completed(event: e.TestCompleted, _: Sequence[e.AnalysisEvent]) -> dict[str, Any]:
    return {**_test(event, TestStatus.COMPLETED), "result_ref": event.result_ref, "completed_at": event.at}


def _failed(event: e.TestFailed, events: Sequence[e.AnalysisEvent]) -> dict[str, Any]:
    refunds = [other.remaining_tests for other in events if isinstance(other, e.TestRefunded)]
    return {
        **_test(event, TestStatus.FAILED),
        "error_code": event.error_code,
        "error_message": event.error_message,
        "completed_at": event.at,
        **({"remaining_tests": refunds[0]} if refunds else {}),
    }


def _test(event: e.TestStarted | e.TestRecorded | e.TestCompleted | e.TestFailed, status: TestStatus) -> dict[str, Any]:
    return {"id": event.test_id, "user_id": event.user_id, "status": status.value}


def _skipped(event: e.TestSkipped, _: Sequence[e.AnalysisEvent]) -> Any:
    return skipped_rejection(event) if event.run_id is None else None


def _late(event: e.LateReportRefused, _: Sequence[e.AnalysisEvent]) -> Any:
    return late_rejection(event)


def _run(event: e.CleanupRunStarted, _: Sequence[e.AnalysisEvent]) -> dict[str, object]:
    return asked_for(event.run_id, joined=False)


_TELL: Final[dict[type, Callable[[Any, Sequence[e.AnalysisEvent]], Any]]] = {
    e.UserRegistered: _registered,
    e.UserTierChanged: _changed,
    e.UserFrozen: _changed,
    e.UserUnfrozen: _changed,
    e.TestsGranted: _changed,
    e.TestsAdjusted: _changed,
    e.TestStarted: _started,
    e.TestRecorded: _recorded,
    e.TestCompleted: _completed,
    e.TestFailed: _failed,
    e.TestSkipped: _skipped,
    e.LateReportRefused: _late,
    e.CleanupRunStarted: _run,
}

answer: Final = answer_by(_TELL)
