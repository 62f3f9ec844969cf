"""What agents say of their work, and which run they say it of."""

from datetime import timedelta

import pytest

from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import (
    AssignJob,
    DeactivateJob,
    MarkOnline,
    MarkSilent,
    ReportCompleted,
    ReportFailed,
    ReportRunning,
)
from drover.domain.fleet.events import (
    AttemptFailed,
    AttemptProgressed,
    AttemptStarted,
    AttemptSucceeded,
    StaleReportRefused,
)
from drover.domain.fleet.state import AssignmentStatus, DeviceStatus, Phase
from drover.testing.scenario import NOON, given
from tests.unit.domain.fleet.world import (
    D1,
    D2,
    D3,
    J1,
    J2,
    Work,
    active,
    at,
    created,
    farm,
    job_of,
    phone,
    posted_id,
    registered,
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
def test_v007_what_the_agent_counts_does_not_matter():
    scenario = with_work(ONE.running()).when(ONE.fails(retry_count=3)).then_answers(retry_count=1, status="pending")
    assert work_of(scenario, ONE).failed == 1


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


# Of which run


@pytest.mark.parametrize("run", [-1, 10**9 + 1])
@pytest.mark.parametrize("report", ALL_REPORTS)
def test_a_run_has_bounds_since_it_is_recorded_as_it_was_claimed(report, run):
    (command,) = ONE.says(report, run=run)
    with_work(ONE.running()).when(command).then_rejected(Code.VALIDATION_ERROR, field="run")


@pytest.mark.req("DF-05")
@pytest.mark.parametrize("report", ONE.says(*ALL_REPORTS), ids=lambda report: type(report).__name__)
@pytest.mark.parametrize("then", [ONE.offered(2), ONE.running(2)], ids=["the next run is offered", "the next run runs"])
def test_a_report_of_a_past_run_is_refused_recorded_and_changes_nothing(then, report):
    status = {"ReportRunning": "running", "ReportCompleted": "completed", "ReportFailed": "failed"}
    scenario = with_work(then)
    before = work_of(scenario, ONE).phase
    scenario.when(report).then_rejected(
        Code.STALE_ATTEMPT,
        ONE.stale(status[type(report).__name__], run=1, current=2, attempt=2),
        run=1,
        current_run=2,
    )
    assert work_of(scenario, ONE).phase is before
    assert work_of(scenario, ONE).failed == 1


@pytest.mark.req("DF-05")
def test_a_stale_report_is_recorded_once_for_each_run():
    scenario = with_work(ONE.running(3))
    scenario.when(ONE.runs(1)).then_rejected(Code.STALE_ATTEMPT, StaleReportRefused)
    scenario.when(ONE.runs(1)).then_rejected(Code.STALE_ATTEMPT)
    scenario.when(ONE.completes(1)).then_rejected(Code.STALE_ATTEMPT)
    scenario.when(ONE.runs(2)).then_rejected(Code.STALE_ATTEMPT, StaleReportRefused)
    scenario.when(ONE.runs(2)).then_rejected(Code.STALE_ATTEMPT)


@pytest.mark.req("DF-05")
def test_a_stale_report_is_recorded_once_for_each_run_in_whatever_order_they_come():
    scenario = with_work(ONE.running(3)).when(ONE.runs(2)).then_rejected(Code.STALE_ATTEMPT, StaleReportRefused)
    scenario.when(ONE.runs(1)).then_rejected(Code.STALE_ATTEMPT, StaleReportRefused)


@pytest.mark.req("DF-05", "DF-13")
def test_a_report_of_a_run_that_was_rolled_back_is_stale():
    scenario = with_work(ONE.running()).when(MarkSilent(D1))
    scenario.when(ONE.runs(1, progress_pct=60)).then_rejected(Code.STALE_ATTEMPT, StaleReportRefused, run=1)
    scenario.when(MarkOnline(D1)).when(ONE.completes(1)).then_rejected(Code.STALE_ATTEMPT)


def test_a_report_during_the_delay_before_the_retry_is_stale():
    scenario = with_work(ONE.running()).when(ONE.fails())
    scenario.when(ONE.completes(1)).then_rejected(Code.STALE_ATTEMPT, StaleReportRefused, run=1, current_run=1)


def test_a_report_of_a_run_that_was_never_given_out_is_a_conflict():
    with_work(ONE.running()).when(ONE.completes(2)).then_rejected(Code.CONFLICT, run=2, current_run=1)


def test_a_report_of_what_was_not_fetched_is_a_conflict():
    for report in ONE.says(*ALL_REPORTS):
        with_work(ONE.offered()).when(report).then_rejected(Code.CONFLICT, status="pending")


@pytest.mark.req("DF-10")
def test_a_report_without_a_run_counts_where_the_assignment_runs():
    scenario = with_work(ONE.running(2))
    scenario.when(ONE.runs(None, progress_pct=40)).then(AttemptProgressed(*ONE.attempt(2), 40, False))
    scenario.when(ONE.completes(None)).then(AttemptSucceeded)
    with_work(ONE.running()).when(ONE.fails(run=None)).then(AttemptFailed, ONE.retry(due=at(seconds=5)))


@pytest.mark.req("DF-10")
def test_running_without_a_run_counts_where_the_assignment_was_sent():
    with_work(ONE.sent()).when(ONE.runs(None)).then(ONE.started())


@pytest.mark.req("DF-10")
@pytest.mark.parametrize("report", ONE.says(ReportCompleted, ReportFailed, run=None))
def test_an_end_without_a_run_does_not_count_before_it_runs(report):
    """It may be that of an earlier run: the agent cannot tell."""
    with_work(ONE.sent()).when(report).then_rejected(Code.CONFLICT, status="pending")


@pytest.mark.req("DF-10")
@pytest.mark.parametrize("report", ONE.says(*ALL_REPORTS, run=None))
@pytest.mark.parametrize("events", [ONE.offered(), ONE.offered(2)], ids=["first run", "second run"])
def test_a_report_without_a_run_of_what_was_not_fetched_is_a_conflict(events, report):
    with_work(events).when(report).then_rejected(Code.CONFLICT, status="pending")


@pytest.mark.req("DF-21")
def test_v006_a_device_runs_one_thing_at_a_time():
    other = Work(D1, J2, id=posted_id(1))
    scenario = with_work(ONE.running()).given(created(J2)).when(AssignJob(other.id, J2, D1))
    scenario.when(other.runs(None)).then_rejected(Code.CONFLICT, rule="V006")
    assert phone(scenario, D1).assignment == ONE.id


# Whose, and when


@pytest.mark.req("DF-10", "DF-29")
@pytest.mark.parametrize("report", Work(id=posted_id(9)).says(*ALL_REPORTS))
def test_a_report_of_an_unknown_assignment_is_not_found(report):
    scenario = with_work(ONE.running()).when(report).then_rejected(Code.NOT_FOUND)
    assert message_of(scenario) == "Assignment not found"


def test_a_device_reports_only_for_itself():
    for fields in ({"as_device": D2}, {"as_device": D3}):
        with_work(ONE.running()).when(ONE.completes(**fields)).then_rejected(Code.NOT_FOUND)
        with_work([*ONE.running(), ONE.succeeded()]).when(ONE.completes(**fields)).then_rejected(Code.NOT_FOUND)
    with_work(ONE.running()).when(ONE.completes(as_device=D1)).then(AttemptSucceeded)


@pytest.mark.req("DF-10", "DF-29")
@pytest.mark.parametrize("run", [1, None])
def test_a_repeated_final_report_is_told_that_it_is_done(run):
    scenario = with_work(ONE.running()).when(ONE.completes())
    scenario.when(ONE.completes(run)).then_rejected(Code.CONFLICT, status="completed")
    assert message_of(scenario) == "Assignment already completed"
    scenario = with_work(ONE.running(3)).when(ONE.fails(run=3))
    scenario.when(ONE.fails(run=run and 3)).then_rejected(Code.CONFLICT, status="failed")
    assert message_of(scenario) == "Assignment already failed"


@pytest.mark.req("DF-10", "DF-29")
@pytest.mark.parametrize("report", ONE.says(*ALL_REPORTS, run=None))
def test_any_report_without_a_run_after_the_end_is_told_that_it_has_ended(report):
    scenario = with_work([*ONE.running(), ONE.succeeded()]).when(report).then_rejected(Code.CONFLICT)
    assert message_of(scenario) == "Assignment already completed"


@pytest.mark.req("DF-05")
def test_another_end_than_the_recorded_one_is_stale_and_recorded_once():
    scenario = with_work([*ONE.running(), ONE.succeeded()])
    scenario.when(ONE.fails()).then_rejected(Code.STALE_ATTEMPT, ONE.stale("failed", run=1, current=1))
    scenario.when(ONE.fails()).then_rejected(Code.STALE_ATTEMPT)
    assert (job_of(scenario).completed, job_of(scenario).failed) == (0 + 1, 0)


@pytest.mark.req("DF-05")
def test_a_report_of_what_was_taken_back_is_stale():
    scenario = with_work([*ONE.sent(), ONE.withdrawn("unacked"), ONE.cancelled("unacked")])
    scenario.when(ONE.runs()).then_rejected(Code.STALE_ATTEMPT, StaleReportRefused)
    assert phone(scenario, D1).status is DeviceStatus.ONLINE


@pytest.mark.req("EV-04", "DF-21")
def test_the_record_of_a_late_report_names_an_attempt_that_there_was():
    scenario = with_work(ONE.running(3)).when(ONE.fails(run=3)).when(ONE.completes(2))
    (refused,) = told(scenario, StaleReportRefused)
    assert refused.attempt <= 3


@pytest.mark.req("DF-10")
def test_what_runs_when_its_job_is_deactivated_may_be_completed():
    scenario = with_work(ONE.running()).when(DeactivateJob(J1))
    scenario.when(ONE.runs(progress_pct=50)).then(AttemptProgressed)
    scenario.when(ONE.completes()).then(AttemptSucceeded)
    assert job_of(scenario).completed == 1


@pytest.mark.req("DF-03", "DF-13")
def test_a_completed_retry_says_how_many_attempts_failed():
    with_work(ONE.running(3)).when(ONE.completes(3)).then_answers(retry_count=2, attempt=3, run=3)


def test_a_report_never_moves_work_of_an_offline_device():
    """It was taken back when the device went offline; its late word is of a run that is over."""
    scenario = given(FLEET, *farm(1), registered(D3), *active(), *ONE.running()).when(MarkSilent(D1))
    scenario.when(ONE.runs(1)).then_rejected(Code.STALE_ATTEMPT, StaleReportRefused)
    assert work_of(scenario, ONE).phase is Phase.WAITING
