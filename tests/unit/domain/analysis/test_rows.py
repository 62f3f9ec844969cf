"""Users and tests as rows: the caller charges by writing the balance, and the books hold the difference."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from drover.domain.analysis import ANALYSIS
from drover.domain.analysis import commands as c
from drover.domain.analysis import events as e
from drover.domain.analysis.policy import REMAINING_MAX, UNDER_WAY_PER_USER_MAX
from drover.domain.analysis.state import TestStatus
from drover.domain.analysis.validation import validate
from drover.testing.scenario import NOON, given
from tests.unit.domain.analysis.world import (
    ANN,
    NOBODY,
    R1,
    R2,
    T1,
    T2,
    T3,
    cleanup,
    kinds,
    numbered,
    registered,
    user_of,
    with_tests,
)

PROCESSING, COMPLETED, FAILED = TestStatus


def recorded(*tests: str, user: str = ANN, minutes_ago: int = 0) -> list[e.TestRecorded]:
    return [e.TestRecorded(test, user, NOON - timedelta(minutes=minutes_ago)) for test in tests]


def with_rows(*tests: str, left: int = 2, minutes_ago: int = 0):
    return given(ANALYSIS, registered(tests=left), *recorded(*tests, minutes_ago=minutes_ago))


@pytest.mark.req("DI-05")
def test_a_written_balance_is_an_entry_of_the_difference():
    scenario = given(ANALYSIS, registered(tests=5))
    scenario.when(c.ChangeUser(ANN, remaining_tests=4)).then(e.TestsAdjusted(ANN, -1, 4)).then_answers(
        id=ANN, remaining_tests=4
    )
    scenario.when(c.ChangeUser(ANN, remaining_tests=9)).then(e.TestsAdjusted(ANN, 5, 9))
    scenario.when(c.ChangeUser(ANN, remaining_tests=9)).then_nothing()
    assert user_of(scenario).remaining == 9


@pytest.mark.req("DI-05")
def test_a_balance_that_was_not_what_the_caller_read_stays():
    scenario = given(ANALYSIS, registered(tests=5))
    read = c.UserFence(remaining_tests=4)
    scenario.when(c.ChangeUser(ANN, remaining_tests=3, only_if=read)).then_rejected("CONFLICT")
    scenario.when(c.ChangeUser(ANN, tier="gold", only_if=c.UserFence(frozen=True))).then_rejected("CONFLICT")
    scenario.when(c.ChangeUser(ANN, tier="gold", only_if=c.UserFence(tier="silver"))).then_rejected("CONFLICT")
    read = c.UserFence(remaining_tests=5, tier="free", frozen=False)
    scenario.when(c.ChangeUser(ANN, remaining_tests=4, only_if=read)).then(e.TestsAdjusted(ANN, -1, 4))


@pytest.mark.parametrize("tests", [-1, REMAINING_MAX + 1])
def test_a_written_balance_has_the_bounds_of_every_balance(tests):
    scenario = given(ANALYSIS, registered())
    scenario.when(c.ChangeUser(ANN, remaining_tests=tests)).then_rejected("VALIDATION_ERROR", field="remaining_tests")


def test_a_grant_and_a_balance_at_once_say_two_things():
    command = c.ChangeUser(ANN, grant_tests=1, remaining_tests=1)
    given(ANALYSIS, registered()).when(command).then_rejected("VALIDATION_ERROR", field="grant_tests")


def test_a_user_can_be_registered_frozen_and_without_anything_else():
    scenario = given(ANALYSIS).when(c.RegisterUser(ANN, frozen=True))
    scenario.then(e.UserRegistered(ANN, "free", 0), e.UserFrozen(ANN)).then_answers(frozen=True, tier="free")


@pytest.mark.req("DI-05")
def test_a_recorded_test_costs_nothing_and_keeps_the_time_of_its_start():
    began = NOON - timedelta(minutes=35)
    scenario = given(ANALYSIS, registered(tests=0)).when(c.RecordTest(T1, ANN, created_at=began))
    scenario.then(e.TestRecorded(T1, ANN, began)).then_answers(
        id=T1, user_id=ANN, status="processing", created_at=began
    )
    assert user_of(scenario).remaining == 0


def test_a_test_that_starts_in_the_future_or_at_no_time_starts_now():
    for when in (NOON + timedelta(minutes=5), None):
        given(ANALYSIS, registered()).when(c.RecordTest(T1, ANN, created_at=when)).then(*recorded(T1))


@pytest.mark.req("DI-05")
def test_a_test_can_be_recorded_after_its_end():
    scenario = given(ANALYSIS, registered()).when(c.RecordTest(T1, ANN, COMPLETED, result_ref="results/1"))
    scenario.then(*recorded(T1), e.TestCompleted(T1, ANN, "results/1"))
    scenario.then_answers(id=T1, status="completed", result_ref="results/1", created_at=NOON)
    scenario.when(c.RecordTest(T2, ANN, FAILED, error_message="no answer"))
    scenario.then(*recorded(T2), e.TestFailed(T2, ANN, "caller", None, "no answer", None))
    assert not scenario.state.tests


def test_a_row_needs_a_user_who_is_not_frozen_an_id_that_is_free_and_room():
    with_rows(T1).when(c.RecordTest(T2, NOBODY)).then_rejected("NOT_FOUND")
    with_rows(T1).when(c.RecordTest(T1, ANN)).then_rejected("23505", field="id")
    with_rows(T1).given(e.TestCompleted(T1, ANN, None)).when(c.RecordTest(T1, ANN)).then_rejected("23505")
    with_rows(T1).given(e.UserFrozen(ANN)).when(c.RecordTest(T2, ANN)).then_rejected("CONFLICT")
    many = [numbered(number) for number in range(UNDER_WAY_PER_USER_MAX)]
    with_rows(*many).when(c.RecordTest(numbered(9999), ANN)).then_rejected("CONFLICT")


@pytest.mark.req("DI-05")
def test_a_caller_who_fails_a_test_as_a_row_gives_it_back_by_itself():
    scenario = with_rows(T1).when(c.ChangeTest(T1, FAILED, error_code="GEMINI_503", error_message="no answer"))
    scenario.then(e.TestFailed(T1, ANN, "caller", "GEMINI_503", "no answer", None))
    scenario.then_answers(id=T1, status="failed", error_message="no answer")
    assert user_of(scenario).remaining == 2
    scenario.when(c.ChangeUser(ANN, remaining_tests=3)).after(minutes=40).when(cleanup())
    assert user_of(scenario).remaining == 3, "once"


@pytest.mark.req("DI-05")
def test_the_same_holds_for_a_test_that_drover_has_charged():
    scenario = with_tests(T1).when(c.ChangeTest(T1, FAILED))
    assert (kinds(scenario), user_of(scenario).remaining) == (["TestFailed"], 9)
    scenario.when(c.ChangeUser(ANN, remaining_tests=10)).then(e.TestsAdjusted(ANN, 1, 10))


@pytest.mark.req("DI-05")
def test_a_caller_completes_a_test_as_a_row():
    scenario = with_rows(T1).when(c.ChangeTest(T1, COMPLETED, result_ref="results/1"))
    scenario.then(e.TestCompleted(T1, ANN, "results/1")).then_answers(status="completed", result_ref="results/1")
    scenario.when(c.ChangeTest(T1, COMPLETED)).then_nothing()


@pytest.mark.req("DI-05", "SY-03")
def test_a_cleanup_counts_from_the_start_of_a_row_and_gives_each_back():
    scenario = with_rows(T1, T2, minutes_ago=35).given(*recorded(T3, minutes_ago=15)).when(cleanup())
    assert scenario.state.tests.keys() == {T3}
    assert user_of(scenario).remaining == 4
    assert all(scenario.state.ended[test].refunded for test in (T1, T2))
    scenario.when(cleanup(R2))
    assert user_of(scenario).remaining == 4


@pytest.mark.req("DI-05", "SY-01")
def test_a_worker_who_fails_a_row_gets_it_refunded():
    scenario = with_rows(T1).when(c.FailTest(T1)).then(e.TestFailed, e.TestRefunded(T1, ANN, 3, None))
    assert user_of(scenario).remaining == 3


@pytest.mark.req("DI-05", "SY-06")
def test_of_two_callers_who_clean_one_row_one_is_told_that_it_has_moved_on():
    fenced = c.ChangeTest(T1, FAILED, only_if=PROCESSING)
    scenario = with_rows(T1).when(fenced).then(e.TestFailed)
    scenario.when(fenced).then_rejected("CONFLICT", status="failed")


@pytest.mark.req("DI-05", "SY-06")
def test_what_a_cleanup_has_given_back_a_caller_cannot_fail_again():
    scenario = with_rows(T1, minutes_ago=35).when(cleanup(R1))
    scenario.when(c.ChangeTest(T1, FAILED)).then_rejected("CONFLICT", status="failed")
    scenario.when(c.ChangeTest(T1, FAILED, only_if=PROCESSING)).then_rejected("CONFLICT", status="failed")
    scenario.when(c.ChangeTest(T1, COMPLETED)).then_rejected("STALE_ATTEMPT", e.LateReportRefused, refunded=True)


def test_a_repeat_changes_nothing_and_an_end_is_an_end():
    scenario = with_rows(T1).when(c.ChangeTest(T1, PROCESSING)).then_nothing()
    scenario.when(c.ChangeTest(T1, FAILED)).when(c.ChangeTest(T1, FAILED)).then_nothing()
    scenario.when(c.ChangeTest(T1, PROCESSING)).then_rejected("STALE_ATTEMPT", e.LateReportRefused)
    scenario.when(c.ChangeTest(T2, FAILED)).then_rejected("NOT_FOUND")


@pytest.mark.req("DI-05")
def test_a_start_is_recorded_in_utc_and_refused_before_there_were_tests():
    ahead, behind = timezone(timedelta(hours=14)), timezone(-timedelta(hours=14))
    told = c.RecordTest(T1, ANN, created_at=(NOON - timedelta(hours=1)).astimezone(ahead))
    (event,) = given(ANALYSIS, registered()).when(told).decision.events
    assert (event.created_at, event.created_at.tzinfo) == (NOON - timedelta(hours=1), UTC)
    last = c.RecordTest(T1, ANN, created_at=datetime.max.replace(tzinfo=behind))
    assert validate(last) is None, "a clock that is ahead"
    given(ANALYSIS, registered()).when(last).then(*recorded(T1))
    for wrong in (datetime.min.replace(tzinfo=ahead), datetime(1969, 12, 31, tzinfo=UTC), NOON.replace(tzinfo=None)):
        refusal = validate(c.RecordTest(T1, ANN, created_at=wrong))
        assert refusal is not None
        assert refusal.details is not None
        assert refusal.details["field"] == "created_at"
