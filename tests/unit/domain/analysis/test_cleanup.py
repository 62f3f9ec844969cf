"""What is stalled is failed and given back: exactly, in any number, however often it is asked for."""

from datetime import timedelta

import pytest

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.analysis import ANALYSIS
from drover.domain.analysis import commands as c
from drover.domain.analysis import events as e
from drover.domain.analysis.policy import REMAINING_MAX, RUNS_REMEMBERED_MAX, TIMEOUT_S_MAX, USERS_PER_ANSWER_MAX
from drover.domain.decider import Tick
from drover.testing.scenario import NOON, given
from tests.unit.domain.analysis.world import (
    ANN,
    BEN,
    R1,
    R2,
    R3,
    T1,
    T2,
    T3,
    T4,
    by_cron,
    cleanup,
    kinds,
    numbered,
    registered,
    run_id,
    started,
    timed_out,
    user_of,
    with_tests,
)


def asked(scenario, run=R1, users_from=0):
    return scenario.when(c.GetCleanupRun(run, users_from)).decision.result


@pytest.mark.req("SY-02", "SY-03")
def test_case_1_normal_cleanup():
    """Given: 35분 전에 시작된 processing 검사 3건 / When: Cleanup cron 실행
    / Then: 3건 모두 failed로 변경, 사용자 검사 횟수 +3 복구"""
    scenario = with_tests(T1, T2, T3).after(minutes=35)
    before = user_of(scenario).remaining
    scenario.when(by_cron())
    failed = [event for event in scenario.decision.events if isinstance(event, e.TestFailed)]
    assert [event.test_id for event in failed] == [T1, T2, T3]
    assert {event.error_message for event in failed} == {"시스템 타임아웃으로 자동 정리됨"}
    assert {scenario.state.ended[test].status for test in (T1, T2, T3)} == {"failed"}
    assert user_of(scenario).remaining == before + 3


@pytest.mark.req("SY-02")
def test_case_2_tests_within_the_timeout():
    """Given: 15분 전에 시작된 processing 검사 2건 / When: Cleanup cron 실행
    / Then: 정리되지 않음 (타임아웃 30분 미만)"""
    scenario = with_tests(T1, T2).after(minutes=15).when(by_cron())
    scenario.then(e.CleanupRunStarted, e.CleanupRunFinished(R1, 0, 0, 0, 0))
    assert {*scenario.state.tests} == {T1, T2}
    assert user_of(scenario).remaining == 8


@pytest.mark.req("SY-06")
def test_case_3_running_it_again():
    """Given: 이미 정리된 검사 / When: Cleanup cron 재실행 / Then: 중복 처리되지 않음"""
    scenario = with_tests(T1).after(minutes=35).when(by_cron(R1, 12))
    assert user_of(scenario).remaining == 10
    scenario.after(hours=1).when(by_cron(R2, 13)).then(e.CleanupRunStarted, e.CleanupRunFinished(R2, 0, 0, 0, 0))
    assert user_of(scenario).remaining == 10


@pytest.mark.req("SY-02")
def test_a_test_of_exactly_thirty_minutes_is_not_older_than_that():
    scenario = with_tests(T1).after(minutes=30).when(cleanup())
    scenario.then(e.CleanupRunStarted, e.CleanupRunFinished)
    scenario.after(microseconds=1).when(cleanup(R2))
    assert "TestFailed" in kinds(scenario)


@pytest.mark.req("SY-02", "SY-07")
def test_the_whole_story_of_a_run():
    scenario = with_tests(T1, T2).given(registered(BEN), *started(T3, user=BEN)).after(minutes=31).when(cleanup())
    before = NOON + timedelta(minutes=1)
    scenario.then(
        e.CleanupRunStarted(R1, "manual", None, before, {}, True),
        timed_out(T1),
        e.TestRefunded(T1, ANN, 9, R1),
        timed_out(T2),
        e.TestRefunded(T2, ANN, 10, R1),
        timed_out(T3, user=BEN),
        e.TestRefunded(T3, BEN, 10, R1),
        e.UserNotificationRequested,
        e.UserNotificationRequested,
        e.CleanupRunFinished(R1, 3, 0, 2, 0),
    )
    scenario.then_answers(run_id=R1, joined=False)
    notices = [event for event in scenario.decision.events if isinstance(event, e.UserNotificationRequested)]
    assert [(notice.user_id, notice.tests) for notice in notices] == [(ANN, 2), (BEN, 1)]
    assert len({notice.notification_id for notice in notices}) == 2
    assert asked(scenario) == {
        "run_id": R1,
        "finished": True,
        "cleaned": 3,
        "skipped": 0,
        "duration_ms": 0,
        "users_count": 2,
        "users": [ANN, BEN],
    }


@pytest.mark.req("SY-16")
def test_nobody_is_told_where_that_is_not_wanted():
    scenario = with_tests(T1).after(minutes=31).when(cleanup(notify=False))
    assert kinds(scenario) == ["CleanupRunStarted", "TestFailed", "TestRefunded", "CleanupRunFinished"]


@pytest.mark.req("SY-16")
def test_each_tier_has_its_own_timeout_and_the_others_the_default():
    scenario = (
        given(ANALYSIS, registered(ANN, tier="free"), registered(BEN, tier="premium"))
        .given(*started(T1), *started(T2, user=BEN))
        .after(minutes=20)
        .when(cleanup(tier_timeouts_s={"free": 600, "gold": 60}))
    )
    assert {*scenario.state.tests} == {T2}
    scenario.after(minutes=11).when(cleanup(R2, tier_timeouts_s={"premium": 3600}))
    assert {*scenario.state.tests} == {T2}
    scenario.after(minutes=30).when(cleanup(R3, tier_timeouts_s={"premium": 3600}))
    assert not scenario.state.tests


@pytest.mark.req("SY-16")
def test_a_change_of_tier_counts_for_what_is_under_way():
    scenario = with_tests(T1, tier="free").when(c.ChangeUser(ANN, tier="premium")).after(minutes=31)
    scenario.when(cleanup(tier_timeouts_s={"premium": 3600}))
    assert T1 in scenario.state.tests
    scenario.when(c.ChangeUser(ANN, tier="free")).when(cleanup(R2, tier_timeouts_s={"premium": 3600}))
    assert T1 in scenario.state.ended


@pytest.mark.parametrize(
    ("field", "command"),
    [
        ("timeout_s", c.Cleanup(R1, timeout_s=0)),
        ("timeout_s", c.Cleanup(R1, timeout_s=TIMEOUT_S_MAX + 1)),
        ("tier_timeouts_s", c.Cleanup(R1, tier_timeouts_s={"free": 0})),
        ("tier_timeouts_s", c.Cleanup(R1, tier_timeouts_s={f"t{n}": 9 for n in range(65)})),
        ("tier", c.Cleanup(R1, tier_timeouts_s={"Free!": 60})),
        ("trigger", c.Cleanup(R1, "whim")),
        ("scheduled_for", c.Cleanup(R1, c.CRON)),
        ("scheduled_for", c.Cleanup(R1, c.MANUAL, NOON)),
        ("run_id", c.Cleanup("mine")),
    ],
)
def test_what_no_cleanup_can_be(field, command):
    given(ANALYSIS).when(command).then_rejected("VALIDATION_ERROR", field=field)


def crowd(users: int, tests: int):
    """So many users, who share so many tests that were started just now."""
    scenario = given(ANALYSIS, *(registered(f"user_{n:05d}") for n in range(users)))
    for number in range(tests):
        user = f"user_{number % users:05d}"
        scenario.given(*started(numbered(number), user=user, left=10 - number // users))
    return scenario


@pytest.mark.req("SY-03", "SY-06")
def test_a_thousand_stalled_tests_of_three_hundred_users_by_twelve_callers():
    scenario = crowd(300, 1000).after(minutes=31).when(by_cron(R1, 12))
    assert scenario.state.run is not None, "it does not fit one decision"
    calls = [by_cron(R2, 12), *(cleanup(run_id(number)) for number in range(10, 20))]
    failed, refunded, ticks = [], [], 0
    while ANALYSIS.next_deadline(scenario.state) <= scenario.now:
        failed += [event.test_id for event in scenario.decision.events if isinstance(event, e.TestFailed)]
        refunded += [event.test_id for event in scenario.decision.events if isinstance(event, e.TestRefunded)]
        assert failed == refunded, "failing and refunding is one commit"
        for call in calls:
            scenario.when(call).then_nothing()
            assert scenario.decision.result == {"run_id": R1, "joined": True}
        scenario.after(milliseconds=7).when(Tick())
        ticks += 1
    failed += [event.test_id for event in scenario.decision.events if isinstance(event, e.TestFailed)]
    assert sorted(failed) == [numbered(number) for number in range(1000)]
    assert {user.remaining for user in scenario.state.users.values()} == {10}
    run = asked(scenario)
    assert (run["finished"], run["cleaned"], run["users_count"]) == (True, 1000, 300)
    assert run["duration_ms"] == 7 * ticks
    for call in calls:
        scenario.when(call)
    assert {user.remaining for user in scenario.state.users.values()} == {10}


@pytest.mark.req("SY-06")
def test_while_a_run_goes_on_tests_end_and_start_as_ever():
    scenario = crowd(300, 1000).after(minutes=31).when(cleanup())
    left = next(reversed(scenario.state.tests))
    scenario.when(c.CompleteTest(left)).then(e.TestCompleted)
    user = "user_00007"
    scenario.when(c.StartTest(numbered(5000), user)).then(e.TestStarted, e.TestCharged)
    scenario.ticked()
    assert {*scenario.state.tests} == {numbered(5000)}
    assert asked(scenario)["cleaned"] == 999


def test_the_users_of_a_big_run_are_told_in_parts():
    users = USERS_PER_ANSWER_MAX + 1
    scenario = crowd(users, users).after(minutes=31).when(cleanup()).ticked()
    first, second = asked(scenario)["users"], asked(scenario, users_from=USERS_PER_ANSWER_MAX)["users"]
    assert first + second == [f"user_{n:05d}" for n in range(users)]
    assert asked(scenario, users_from=users)["users"] == []


@pytest.mark.req("SY-05", "SY-06")
def test_of_two_instances_that_fire_the_same_hour_one_runs():
    scenario = with_tests(T1).after(minutes=31).when(by_cron(R1, 13)).then_answers(joined=False)
    scenario.when(by_cron(R2, 13)).then_nothing()
    assert scenario.decision.result == {"run_id": R1, "joined": True}
    scenario.when(by_cron(R3, 12)).then_nothing()
    scenario.after(hours=1).when(by_cron(R2, 14)).then(e.CleanupRunStarted, e.CleanupRunFinished)


@pytest.mark.req("SY-07")
def test_a_run_with_nothing_to_do_is_on_record_too():
    given(ANALYSIS).when(cleanup()).then(e.CleanupRunStarted, e.CleanupRunFinished(R1, 0, 0, 0, 0))


@pytest.mark.req("SY-06", "SY-16")
def test_a_user_whose_refund_fails_is_skipped_and_the_others_are_not():
    scenario = (
        with_tests(T1, T2)
        .given(registered(BEN), *started(T3, user=BEN), e.UserFrozen(ANN))
        .after(minutes=31)
        .when(cleanup())
    )
    scenario.then(
        e.CleanupRunStarted,
        e.TestSkipped(T1, ANN, "frozen", R1),
        e.TestSkipped(T2, ANN, "frozen", R1),
        timed_out(T3, user=BEN),
        e.TestRefunded(T3, BEN, 10, R1),
        e.UserNotificationRequested,
        e.CleanupRunFinished(R1, 1, 2, 1, 0),
        AlertRaised,
    )
    assert {*scenario.state.tests} == {T1, T2}, "a skipped test stays processing"
    assert user_of(scenario).remaining == 8


@pytest.mark.req("SY-06", "SY-16")
def test_the_next_run_tries_again_and_a_clean_one_ends_the_alert():
    scenario = with_tests(T1).given(e.UserFrozen(ANN)).after(minutes=31).when(cleanup(R1))
    scenario.after(minutes=1).when(cleanup(R2))
    scenario.then(e.CleanupRunStarted, e.TestSkipped(T1, ANN, "frozen", R2), e.CleanupRunFinished(R2, 0, 1, 0, 0))
    scenario.when(c.ChangeUser(ANN, frozen=False)).after(minutes=1).when(cleanup(R3))
    scenario.then(
        e.CleanupRunStarted,
        timed_out(T1, R3),
        e.TestRefunded(T1, ANN, 10, R3),
        e.UserNotificationRequested,
        e.CleanupRunFinished(R3, 1, 0, 1, 0),
        AlertResolved,
    )


def test_a_run_at_the_very_moment_of_a_skip_leaves_it_alone_and_does_not_end_the_alert():
    scenario = with_tests(T1).given(e.UserFrozen(ANN)).after(minutes=31).when(cleanup(R1))
    scenario.when(cleanup(R2)).then(e.CleanupRunStarted, e.CleanupRunFinished(R2, 0, 0, 0, 0))
    assert scenario.state.alerts


@pytest.mark.req("SY-06")
def test_a_skipped_test_can_still_be_completed():
    scenario = with_tests(T1).given(e.UserFrozen(ANN)).after(minutes=31).when(cleanup(R1))
    scenario.when(c.CompleteTest(T1)).then(e.TestCompleted)
    scenario.after(minutes=1).when(cleanup(R2)).then(e.CleanupRunStarted, e.CleanupRunFinished, AlertResolved)


@pytest.mark.req("SY-06")
def test_a_user_with_as_many_as_can_be_counted_is_skipped():
    scenario = given(ANALYSIS, registered(tests=REMAINING_MAX), *started(T1, left=REMAINING_MAX))
    scenario.when(c.ChangeUser(ANN, grant_tests=1)).after(minutes=31).when(cleanup())
    scenario.then(e.CleanupRunStarted, e.TestSkipped(T1, ANN, "full", R1), e.CleanupRunFinished, AlertRaised)


@pytest.mark.req("SY-16")
def test_a_cleanup_that_could_not_be_done_raises_an_alert_once_and_a_clean_run_ends_it():
    scenario = given(ANALYSIS).when(c.ReportCleanupFailed("nobody answered")).then(AlertRaised)
    assert scenario.decision.events[0].message == "Failed to cleanup tests - nobody answered"
    scenario.when(c.ReportCleanupFailed("again")).then_nothing()
    scenario.when(cleanup()).then(e.CleanupRunStarted, e.CleanupRunFinished, AlertResolved)


def test_a_run_that_nobody_knows_is_not_found_and_old_ones_are_forgotten():
    scenario = given(ANALYSIS).when(c.GetCleanupRun(R1)).then_rejected("NOT_FOUND")
    for number in range(RUNS_REMEMBERED_MAX + 1):
        scenario.when(cleanup(run_id(number)))
    scenario.when(c.GetCleanupRun(run_id(0))).then_rejected("NOT_FOUND")
    assert asked(scenario, run_id(1))["finished"]
    assert len(scenario.state.runs) == RUNS_REMEMBERED_MAX


def test_the_same_run_is_not_started_twice():
    scenario = with_tests(T1, T4).when(cleanup(R1)).after(minutes=31).when(cleanup(R1)).then_nothing()
    assert scenario.decision.result == {"run_id": R1, "joined": True}


def test_what_is_archived_waits_for_the_cleanup():
    scenario = crowd(300, 1000).when(c.CompleteTest(numbered(0))).after(hours=24).when(cleanup())
    scenario.when(Tick())
    assert "TestArchived" not in kinds(scenario)
    scenario.ticked()
    assert kinds(scenario).count("TestArchived") == 1
