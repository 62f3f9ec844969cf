"""Which run a report is of, whose it is, and what is told to one that comes too late."""

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
    AttemptSent,
    AttemptStarted,
    AttemptSucceeded,
    RetryScheduled,
    StaleReportRefused,
)
from drover.domain.fleet.state import DeviceStatus, Phase
from drover.testing.scenario import given
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
        ONE.stale(status[type(report).__name__], run=1, current=2, attempt=1),
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


def test_an_end_of_what_was_not_fetched_is_a_conflict():
    for report in ONE.says(ReportCompleted, ReportFailed):
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


@pytest.mark.req("DI-09")
def test_an_end_straight_after_it_was_sent_is_a_start_and_an_end():
    with_work(ONE.sent()).when(ONE.completes(None)).then(ONE.started(), AttemptSucceeded)
    with_work(ONE.sent()).when(ONE.fails(run=None)).then(ONE.started(), AttemptFailed, RetryScheduled)


@pytest.mark.req("DF-10")
@pytest.mark.parametrize("report", ONE.says(ReportCompleted, ReportFailed, run=None))
@pytest.mark.parametrize("events", [ONE.offered(), ONE.offered(2)], ids=["first run", "second run"])
def test_an_end_without_a_run_of_what_was_not_fetched_is_a_conflict(events, report):
    """It may be that of an earlier run: the agent cannot tell."""
    with_work(events).when(report).then_rejected(Code.CONFLICT, status="pending")


@pytest.mark.req("DI-01", "DI-09")
@pytest.mark.parametrize("run", [None, 1])
def test_running_of_what_was_not_fetched_is_a_delivery_and_a_start(run):
    with_work(ONE.offered()).when(ONE.runs(run)).then(ONE.was_sent(), ONE.started())


@pytest.mark.req("DI-01", "DI-09")
def test_running_after_a_failure_without_a_poll_is_the_next_run():
    scenario = with_work(ONE.running()).when(ONE.fails())
    scenario.when(ONE.runs(None)).then(ONE.created(2), ONE.was_sent(2), ONE.started(2))
    assert work_of(scenario, ONE).phase is Phase.RUNNING
    scenario.after(seconds=6).ticked().then_nothing()


@pytest.mark.req("DI-13")
def test_a_report_with_a_condition_counts_only_while_it_holds():
    scenario = with_work(ONE.offered()).when(ONE.runs(1, only_if="pending")).then(AttemptSent, AttemptStarted)
    scenario.when(ONE.runs(1, only_if="pending")).then_rejected(Code.CONFLICT, status="running")


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


@pytest.mark.req("EV-04")
def test_the_record_of_a_late_report_names_the_attempt_of_its_own_run():
    """Runs 1 and 2 are attempt 1 (the first was rolled back), run 3 is attempt 2, run 4 attempt 3."""
    history = [
        *ONE.sent(),
        ONE.started(),
        ONE.rolled_back(),
        *(ONE.created(2, 1), ONE.was_sent(2, 1), ONE.started(2, 1)),
        *(ONE.failed("E1002", 2, 1), ONE.retry(2, 1, due=None)),
        *(ONE.created(3, 2), ONE.was_sent(3, 2), ONE.started(3, 2)),
        *(ONE.failed("E1002", 3, 2), ONE.retry(3, 2, due=None)),
        *(ONE.created(4, 3), ONE.was_sent(4, 3), ONE.started(4, 3)),
    ]
    scenario = with_work(history)
    attempts = {}
    for run in (1, 2, 3):
        scenario.when(ONE.completes(run)).then_rejected(Code.STALE_ATTEMPT, StaleReportRefused)
        attempts[run] = told(scenario, StaleReportRefused)[-1].attempt
    assert attempts == {1: 1, 2: 1, 3: 2}
    scenario.when(ONE.fails(run=4)).when(ONE.completes(3)).then_rejected(Code.STALE_ATTEMPT, StaleReportRefused)
    assert told(scenario, StaleReportRefused)[-1].attempt == 2, "also after the end"


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
