"""A test costs one, its worker ends it, a failure gives it back; whoever comes late is told so."""

import pytest

from drover.domain.analysis import ANALYSIS, evolution
from drover.domain.analysis import commands as c
from drover.domain.analysis import events as e
from drover.domain.analysis.policy import MESSAGE_BYTES_MAX, REMAINING_MAX, UNDER_WAY_PER_USER_MAX
from drover.domain.decider import Rejection
from drover.domain.errors import Code
from drover.testing.scenario import given
from tests.unit.domain.analysis.world import (
    ANN,
    NOBODY,
    R1,
    T1,
    T2,
    cleanup,
    numbered,
    registered,
    started,
    user_of,
    with_tests,
)


@pytest.mark.req("SY-01")
def test_starting_a_test_costs_one():
    scenario = given(ANALYSIS, registered(tests=2)).when(c.StartTest(T1, ANN))
    scenario.then(e.TestStarted(T1, ANN), e.TestCharged(T1, ANN, 1))
    scenario.then_answers(id=T1, user_id=ANN, status="processing", remaining_tests=1)
    assert user_of(scenario).remaining == 1


@pytest.mark.req("SY-01")
def test_at_zero_it_is_refused():
    scenario = given(ANALYSIS, registered(tests=1), *started(T1, left=1)).when(c.StartTest(T2, ANN))
    scenario.then_rejected("NO_TESTS_LEFT", remaining_tests=0)


def test_an_unknown_user_a_frozen_one_and_an_id_that_is_taken_start_nothing():
    with_tests(T1).when(c.StartTest(T2, NOBODY)).then_rejected("NOT_FOUND")
    with_tests(T1).when(c.StartTest(T1, ANN)).then_rejected("23505", field="id")
    with_tests(T1).given(e.TestCompleted(T1, ANN, None)).when(c.StartTest(T1, ANN)).then_rejected("23505")
    with_tests(T1).given(e.UserFrozen(ANN)).when(c.StartTest(T2, ANN)).then_rejected("CONFLICT")
    with_tests(T1).when(c.StartTest("T-2", ANN)).then_rejected("VALIDATION_ERROR", field="test_id")


def test_a_user_has_so_many_under_way_at_once():
    many = [numbered(number) for number in range(UNDER_WAY_PER_USER_MAX)]
    scenario = given(ANALYSIS, registered(tests=1000), *started(*many, left=1000))
    scenario.when(c.StartTest(numbered(9999), ANN)).then_rejected("CONFLICT")
    scenario.when(c.CompleteTest(many[0])).when(c.StartTest(numbered(9999), ANN)).then(e.TestStarted, e.TestCharged)


@pytest.mark.req("SY-01")
def test_a_worker_completes_it():
    scenario = with_tests(T1).when(c.CompleteTest(T1, "results/1")).then(e.TestCompleted(T1, ANN, "results/1"))
    scenario.then_answers(id=T1, status="completed", result_ref="results/1")
    assert user_of(scenario).remaining == 9, "what was done is not given back"


@pytest.mark.req("SY-01", "SY-03")
def test_a_failure_that_the_worker_reports_gives_the_test_back_once():
    scenario = with_tests(T1, T2).when(c.FailTest(T1, "GEMINI_503", "overloaded"))
    scenario.then(e.TestFailed(T1, ANN, "worker", "GEMINI_503", "overloaded", None), e.TestRefunded(T1, ANN, 9, None))
    scenario.then_answers(id=T1, status="failed", remaining_tests=9)
    scenario.when(c.FailTest(T1, "GEMINI_503")).then_rejected("CONFLICT", status="failed")
    assert user_of(scenario).remaining == 9


def test_what_a_worker_says_is_cut_to_what_a_decision_can_hold():
    scenario = with_tests(T1).when(c.FailTest(T1, None, "\0" + "뷁" * 5000))
    message = scenario.decision.events[0].error_message
    assert len(message.encode()) <= MESSAGE_BYTES_MAX
    assert message.startswith(" 뷁")


def test_a_test_that_nobody_knows_is_not_found():
    with_tests(T1).when(c.CompleteTest(T2)).then_rejected("NOT_FOUND")
    with_tests(T1).when(c.FailTest(T2)).then_rejected("NOT_FOUND")


@pytest.mark.req("SY-06")
def test_a_late_completion_after_a_refund_is_refused_and_recorded_once_also_when_repeated():
    scenario = with_tests(T1).after(minutes=31).when(cleanup(R1))
    assert user_of(scenario).remaining == 10
    for recorded in ([e.LateReportRefused(T1, ANN, "completed", "failed", True)], [], []):
        scenario.when(c.CompleteTest(T1, "results/1"))
        scenario.then_rejected("STALE_ATTEMPT", *recorded, status="failed", refunded=True)
    assert user_of(scenario).remaining == 10
    assert scenario.state.ended[T1].status == "failed"


@pytest.mark.req("SY-06")
def test_a_late_failure_after_a_completion_is_refused_and_gives_nothing_back():
    scenario = with_tests(T1).given(e.TestCompleted(T1, ANN, None))
    scenario.when(c.FailTest(T1)).then_rejected(
        "STALE_ATTEMPT", e.LateReportRefused(T1, ANN, "failed", "completed", False)
    )
    scenario.when(c.FailTest(T1)).then_rejected("STALE_ATTEMPT", status="completed", refunded=False)
    scenario.when(c.CompleteTest(T1)).then_rejected("CONFLICT", status="completed")
    assert user_of(scenario).remaining == 9


@pytest.mark.req("SY-06")
def test_a_failure_that_cannot_be_given_back_now_is_not_recorded_as_one():
    scenario = with_tests(T1).given(e.UserFrozen(ANN))
    scenario.when(c.FailTest(T1)).then_rejected("CONFLICT", e.TestSkipped(T1, ANN, "frozen", None), reason="frozen")
    scenario.when(c.FailTest(T1)).then_rejected("CONFLICT", reason="frozen")
    assert T1 in scenario.state.tests
    scenario.when(c.ChangeUser(ANN, frozen=False)).when(c.FailTest(T1)).then(e.TestFailed, e.TestRefunded)


def test_a_refund_never_leads_beyond_what_can_be_counted():
    scenario = given(ANALYSIS, registered(tests=REMAINING_MAX), *started(T1, left=REMAINING_MAX))
    scenario.when(c.ChangeUser(ANN, grant_tests=1))
    scenario.when(c.FailTest(T1)).then_rejected("CONFLICT", e.TestSkipped(T1, ANN, "full", None))


@pytest.mark.req("SY-01")
def test_an_ended_test_is_forgotten_after_a_day_and_its_user_is_not():
    scenario = with_tests(T1, T2).when(c.CompleteTest(T1)).after(hours=1).when(c.FailTest(T2))
    scenario.after(hours=22, minutes=59).ticked().then_nothing()
    scenario.after(minutes=1).ticked().then(e.TestArchived(T1))
    scenario.when(c.CompleteTest(T1)).then_rejected("NOT_FOUND")
    scenario.after(hours=1).ticked().then(e.TestArchived(T2))
    assert not scenario.state.ended
    assert user_of(scenario).remaining == 9
    assert ANALYSIS.next_deadline(scenario.state) is None


def test_a_recorded_refusal_is_told_again_from_its_events():
    scenario = with_tests(T1).given(e.TestCompleted(T1, ANN, None)).when(c.FailTest(T1))
    assert isinstance(ANALYSIS.answer(scenario.decision.events), Rejection)


@pytest.mark.req("YR-10")
def test_the_oldest_ended_test_leaves_earlier_when_too_many_have_ended(monkeypatch):
    monkeypatch.setattr(evolution, "PAST_TESTS_MAX", 1)
    scenario = with_tests(T1, T2).when(c.CompleteTest(T1)).when(c.CompleteTest(T2))
    scenario.after(minutes=20, seconds=-1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(e.TestArchived(T1))
    scenario.when(c.CompleteTest(T1)).then_rejected(Code.NOT_FOUND)
    scenario.when(c.FailTest(T2)).then_rejected(Code.STALE_ATTEMPT, e.LateReportRefused)
    scenario.after(hours=23, minutes=40).ticked().then(e.TestArchived(T2))
