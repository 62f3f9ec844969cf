"""What agents say of their work: running, progress, completed, failed."""

from datetime import timedelta

import pytest

from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import (
    ReportCompleted,
    ReportFailed,
    ReportRunning,
)
from drover.domain.fleet.events import (
    AttemptFailed,
    AttemptProgressed,
    AttemptStarted,
    AttemptSucceeded,
)
from drover.domain.fleet.state import AssignmentStatus, DeviceStatus
from drover.testing.scenario import NOON, given
from tests.unit.domain.fleet.world import (
    D1,
    D2,
    J1,
    Work,
    active,
    at,
    farm,
    phone,
    told,
    work_of,
)

ONE, TWO = Work(D1), Work(D2, number=2)
ALL_REPORTS = (ReportRunning, ReportCompleted, ReportFailed)


def with_work(events):
    """The first phone's work has come so far; the second phone keeps the job going."""
    return given(FLEET, *farm(2), *active(), *events, *TWO.running())


def message_of(scenario):
    return scenario.decision.rejection.message


# Running and progress


@pytest.mark.req("DF-10", "EV-04")
def test_running_is_recorded_with_what_the_agent_says_of_its_beginning():
    claimed = at(seconds=-3)
    scenario = with_work(ONE.sent()).when(ONE.runs(progress_pct=5, started_at=claimed))
    scenario.then(ONE.started(progress=5, claimed=claimed))
    assert work_of(scenario, ONE).status is AssignmentStatus.RUNNING
    assert phone(scenario, D1).status is DeviceStatus.BUSY
    scenario.then_answers(id=ONE.id, status="running", progress_pct=5, run=1, attempt=1)


@pytest.mark.req("DF-10")
def test_a_repeated_running_changes_nothing():
    with_work(ONE.running()).when(ONE.runs()).then_nothing().when(ONE.runs(progress_pct=0)).then_nothing()


@pytest.mark.req("DF-10")
def test_progress_is_an_event_at_each_step_of_ten_points():
    scenario = with_work(ONE.running())
    told_at = []
    for progress in range(0, 101, 3):
        scenario.when(ONE.runs(progress_pct=progress))
        told_at += [event.progress_pct for event in told(scenario, AttemptProgressed)]
    assert told_at == [12, 21, 30, 42, 51, 60, 72, 81, 90]
    scenario.when(ONE.runs(progress_pct=100)).then(AttemptProgressed(*ONE.attempt(), 100, False))


@pytest.mark.req("DF-10")
def test_progress_never_goes_back():
    scenario = with_work(ONE.running()).when(ONE.runs(progress_pct=55)).when(ONE.runs(progress_pct=20)).then_nothing()
    assert work_of(scenario, ONE).progress_pct == 55


@pytest.mark.req("DF-18")
def test_the_beginning_and_the_end_of_an_advertisement_are_events():
    scenario = with_work(ONE.running()).when(ONE.runs(progress_pct=24))
    scenario.when(ONE.runs(progress_pct=24, ad_playing=True)).then(AttemptProgressed(*ONE.attempt(), 24, True))
    scenario.when(ONE.runs(progress_pct=24, ad_playing=True)).then_nothing()
    scenario.when(ONE.runs(progress_pct=23)).then(AttemptProgressed(*ONE.attempt(), 24, False))


@pytest.mark.req("DF-10")
@pytest.mark.parametrize("progress", [-1, 101])
def test_progress_is_a_percentage(progress):
    with_work(ONE.running()).when(ONE.runs(progress_pct=progress)).then_rejected(
        Code.VALIDATION_ERROR, field="progress_pct"
    )


# Completed


@pytest.mark.req("DF-10", "EV-04", "DF-03")
def test_completed_is_recorded_with_all_that_was_done():
    scenario = with_work(ONE.running()).after(minutes=3)
    scenario.when(ONE.completes(actual_duration_sec=156, did_like=True, did_playlist=True, completed_at=at(minutes=2)))
    scenario.then(
        AttemptSucceeded(
            *ONE.attempt(),
            assigned_at=NOON,
            started_at=NOON,
            actual_duration_sec=156,
            did_like=True,
            did_comment=False,
            did_playlist=True,
            claimed_completed_at=at(minutes=2),
        )
    )
    scenario.then_answers(
        id=ONE.id,
        job_id=J1,
        device_id=D1,
        status="completed",
        progress_pct=100,
        retry_count=0,
        actual_duration_sec=156,
        did_like=True,
        did_comment=False,
        did_playlist=True,
        error_code=None,
        completed_at=scenario.now,
    )
    assert phone(scenario, D1).status is DeviceStatus.ONLINE
    assert ONE.id not in scenario.state.assignments


@pytest.mark.req("DF-10")
def test_completed_without_its_beginning_is_recorded_with_both():
    with_work(ONE.sent()).when(ONE.completes()).then(AttemptStarted, AttemptSucceeded).then_answers(status="completed")


@pytest.mark.req("DF-26")
@pytest.mark.parametrize("progress", [None, 0, 99])
def test_completed_needs_the_whole_progress(progress):
    with_work(ONE.running()).when(ONE.completes(progress_pct=progress)).then_rejected(
        Code.VALIDATION_ERROR, field="progress_pct"
    )


@pytest.mark.req("DF-26")
def test_completed_takes_no_error_code():
    with_work(ONE.running()).when(ONE.completes(error_code="E4001")).then_rejected(
        Code.VALIDATION_ERROR, field="error_code"
    )


@pytest.mark.req("DF-21")
@pytest.mark.parametrize("seconds", [None, 0, -1])
def test_v005_completed_took_some_time(seconds):
    with_work(ONE.running()).when(ONE.completes(actual_duration_sec=seconds)).then_rejected(
        Code.VALIDATION_ERROR, field="actual_duration_sec", rule="V005"
    )


@pytest.mark.req("DF-21")
@pytest.mark.parametrize("seconds", [0, -1])
def test_v004_the_end_is_after_the_beginning(seconds):
    wrong = {"started_at": NOON, "completed_at": NOON + timedelta(seconds=seconds)}
    with_work(ONE.running()).when(ONE.completes(**wrong)).then_rejected(
        Code.VALIDATION_ERROR, field="completed_at", rule="V004"
    )


@pytest.mark.req("DF-21")
def test_v004_compares_with_the_beginning_that_the_same_agent_claimed_before():
    ahead = at(days=400)  # a phone whose clock is wrong is wrong all the time
    scenario = with_work(ONE.sent()).when(ONE.runs(started_at=ahead))
    scenario.when(ONE.completes(completed_at=ahead - timedelta(seconds=1))).then_rejected(
        Code.VALIDATION_ERROR, rule="V004"
    )
    scenario.when(ONE.completes(completed_at=ahead + timedelta(seconds=1))).then(AttemptSucceeded)


@pytest.mark.req("DF-21")
def test_v004_compares_no_clock_of_ours_with_one_of_theirs():
    with_work(ONE.running()).when(ONE.completes(completed_at=at(days=-400))).then(AttemptSucceeded)


# Failed


@pytest.mark.req("DF-26")
def test_failed_needs_an_error_code():
    with_work(ONE.running()).when(ONE.fails(None)).then_rejected(Code.VALIDATION_ERROR, field="error_code")


@pytest.mark.req("DF-26")
@pytest.mark.parametrize("code", ["", "no spaces", "x" * 65, "E1001\n"])
def test_an_error_code_is_a_short_word(code):
    with_work(ONE.running()).when(ONE.fails(code)).then_rejected(Code.VALIDATION_ERROR, field="error_code")


@pytest.mark.req("DF-21")
@pytest.mark.parametrize("count", [-1, 4])
def test_v007_a_retry_count_is_at_most_three(count):
    with_work(ONE.running()).when(ONE.fails(retry_count=count)).then_rejected(
        Code.VALIDATION_ERROR, field="retry_count", rule="V007"
    )


@pytest.mark.req("DF-21", "DF-03")
def test_v007_the_agent_may_count_less_than_the_server():
    scenario = with_work(ONE.running()).when(ONE.fails(retry_count=0)).then_answers(retry_count=1, status="pending")
    assert work_of(scenario, ONE).failed == 1


@pytest.mark.req("DI-09")
def test_a_failure_that_the_agent_counts_as_its_third_is_final():
    with_work(ONE.running()).when(ONE.fails(retry_count=3)).then_answers(status="failed")


@pytest.mark.req("DF-30")
def test_a_failure_keeps_the_screenshot_and_the_activity_stack():
    evidence = {"screenshot_ref": "s3://shots/1.png", "activity_stack": "a/b/c", "error_message": "stuck"}
    scenario = with_work(ONE.running()).when(ONE.fails("PLAYBACK_STALLED", **evidence))
    (failed,) = told(scenario, AttemptFailed)
    assert (failed.screenshot_ref, failed.activity_stack, failed.message) == ("s3://shots/1.png", "a/b/c", "stuck")


@pytest.mark.req("DF-30")
def test_long_texts_of_agents_are_cut():
    long = dict.fromkeys(("screenshot_ref", "activity_stack", "error_message"), "x" * 5000)
    scenario = with_work(ONE.running()).when(ONE.fails("PLAYBACK_STALLED", **long))
    (failed,) = told(scenario, AttemptFailed)
    assert (len(failed.message), len(failed.activity_stack), len(failed.screenshot_ref)) == (4000, 4000, 1000)


@pytest.mark.req("DF-10", "DF-03")
def test_failed_without_its_beginning_is_recorded_with_both():
    scenario = with_work(ONE.sent()).when(ONE.fails("E1002", error_message="no answer"))
    scenario.then(AttemptStarted, AttemptFailed, ONE.retry(due=at(seconds=5)))
    scenario.then_answers(status="pending", retry_count=1, error_code="E1002", error_message="no answer")
