"""What an agent of 000 writes without asking first: errors while it runs, retries in place, work given back."""

import pytest

from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import CancelAssignment, ReportDeviceError, ReportPending, ResetDevice
from drover.domain.fleet.events import (
    AssignmentCancelled,
    AssignmentReopened,
    AttemptCancelled,
    AttemptCreated,
    AttemptErrorNoted,
    AttemptFailed,
    AttemptFailedFinal,
    AttemptRolledBack,
    AttemptSent,
    AttemptStarted,
    AttemptSucceeded,
    DeviceQuarantined,
    DeviceReleased,
    RetryScheduled,
    StaleReportRefused,
)
from drover.domain.fleet.state import DeviceStatus, Phase
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import D1, D2, NOBODY, Work, active, at, farm, phone, told, work_of

ONE, TWO = Work(D1), Work(D2, number=2)
AGAIN = (AttemptFailed, RetryScheduled, AttemptCreated, AttemptSent, AttemptStarted)


def with_work(events, phones=1):
    return given(FLEET, *farm(phones), *active(), *events)


@pytest.mark.req("DI-09")
@pytest.mark.parametrize("said", [{"progress_pct": 0}, {"retry_count": 1}, {"progress_pct": 0, "retry_count": 1}])
def test_an_error_with_progress_0_or_a_count_that_grew_is_a_failure_and_the_next_run(said):
    scenario = with_work(ONE.running()).when(ONE.runs(None, error_code="APP_CRASH", **said)).then(*AGAIN)
    work = work_of(scenario, ONE)
    assert (work.phase, work.run, work.failed, phone(scenario, D1).crashes) == (Phase.RUNNING, 2, 1, 1)
    scenario.then_answers(status="running", run=2, retry_count=1)
    scenario.after(seconds=30).ticked().then_nothing()


@pytest.mark.req("DI-09")
def test_the_third_crash_in_place_is_final_and_puts_the_device_into_error():
    scenario = with_work(ONE.running())
    for _ in range(2):
        scenario.when(ONE.runs(None, error_code="APP_CRASH", progress_pct=0)).then(*AGAIN)
    scenario.when(ONE.runs(None, error_code="APP_CRASH", progress_pct=0))
    assert told(scenario, AttemptFailedFinal)
    assert told(scenario, DeviceQuarantined)[0].until == at(minutes=30)
    scenario.then_answers(status="failed")


@pytest.mark.req("DI-09")
def test_an_error_that_is_never_retried_is_not_retried_in_place_either():
    scenario = with_work(ONE.running(), 2)
    scenario.when(ONE.runs(None, error_code="VIDEO_UNAVAILABLE", progress_pct=0))
    assert told(scenario, AttemptFailedFinal)
    assert not told(scenario, AttemptStarted)


@pytest.mark.req("DI-09")
def test_an_error_while_it_runs_is_recorded_once_and_does_not_end_it():
    report = ONE.runs(None, error_code="APP_CRASH", error_message="gone", progress_pct=45)
    noted = AttemptErrorNoted(*ONE.attempt(), "APP_CRASH", "gone")
    scenario = with_work(ONE.running()).when(report).then(noted)
    scenario.when(report).then_nothing()
    work = work_of(scenario, ONE)
    assert (work.phase, work.failed, work.error_code) == (Phase.RUNNING, 0, "APP_CRASH")
    scenario.when(ONE.completes())
    assert told(scenario, AttemptSucceeded)


@pytest.mark.req("DI-09")
def test_an_error_that_comes_with_the_start_is_recorded_after_it():
    with_work(ONE.sent()).when(ONE.runs(None, error_code="E4001")).then(AttemptStarted, AttemptErrorNoted)


def test_a_bad_count_or_code_is_refused():
    scenario = with_work(ONE.running())
    scenario.when(ONE.runs(error_code="a b")).then_rejected(Code.VALIDATION_ERROR, field="error_code")
    scenario.when(ONE.runs(error_code="E1", retry_count=4)).then_rejected(Code.VALIDATION_ERROR, field="retry_count")


@pytest.mark.req("DI-01", "DI-09")
def test_work_that_is_given_back_is_offered_again_and_does_not_count():
    scenario = with_work(ONE.running()).when(ReportPending(ONE.id)).then(AttemptRolledBack, ONE.created(2, 1))
    assert (work_of(scenario, ONE).failed, phone(scenario, D1).status) == (0, DeviceStatus.ONLINE)
    scenario.when(ReportPending(ONE.id)).then_nothing()


@pytest.mark.req("DI-09")
def test_the_third_time_it_counts():
    scenario = with_work(ONE.running())
    for _ in range(2):
        scenario.when(ReportPending(ONE.id)).when(ONE.runs(None))
    scenario.when(ReportPending(ONE.id))
    assert told(scenario, AttemptFailed)[0].code == "TASK_DEVICE_FAILED"


@pytest.mark.req("DI-09")
def test_a_stale_run_gives_nothing_back():
    with_work(ONE.running(2)).when(ReportPending(ONE.id, 1)).then_rejected(Code.STALE_ATTEMPT, StaleReportRefused)
    with_work(ONE.running()).when(ReportPending(ONE.id, as_device=D2)).then_rejected(Code.NOT_FOUND)
    with_work(ONE.running()).when(ReportPending(NOBODY)).then_rejected(Code.NOT_FOUND)


@pytest.mark.req("DI-09")
def test_what_failed_for_good_with_attempts_left_is_opened_again_and_what_completed_is_not():
    scenario = with_work([*ONE.running(), *TWO.running()], 2).when(ONE.fails("VIDEO_AGE_RESTRICTED"))
    scenario.when(ReportPending(ONE.id)).then(AssignmentReopened(*ONE.of))
    scenario.when(TWO.completes()).when(ReportPending(TWO.id)).then_rejected(Code.CONFLICT, status="completed")


@pytest.mark.req("DI-01")
def test_a_runner_cancels_what_it_runs():
    scenario = with_work([*ONE.running(), *TWO.running()], 2)
    scenario.when(CancelAssignment(ONE.id)).then_rejected(Code.CONFLICT)
    scenario.when(CancelAssignment(ONE.id, also_running=True)).then(AttemptRolledBack, AssignmentCancelled)
    assert phone(scenario, D1).status is DeviceStatus.ONLINE


@pytest.mark.req("DI-01")
@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        ({}, 90),
        ({"started_at": at(seconds=10), "completed_at": at(seconds=50)}, 40),
        ({"completed_at": at(seconds=50)}, 90),
    ],
)
def test_a_duration_that_is_not_told_follows_from_the_times(times, seconds):
    scenario = with_work(ONE.running()).after(seconds=90)
    scenario.when(ONE.completes(None, actual_duration_sec=None, progress_pct=None, infers=True, **times))
    scenario.then_answers(status="completed", actual_duration_sec=seconds)


@pytest.mark.req("DI-09")
def test_a_device_that_says_it_is_in_error_gets_no_work_for_half_an_hour():
    scenario = with_work(ONE.offered()).when(ReportDeviceError(D1))
    quarantined = DeviceQuarantined(D1, "DEVICE_ERROR", at(minutes=30), None, None)
    assert told(scenario, AttemptCancelled)
    assert told(scenario, DeviceQuarantined)[0].until == quarantined.until
    scenario.when(ReportDeviceError(D1)).then_nothing()
    assert phone(scenario, D1).status is DeviceStatus.ERROR
    scenario.when(ReportDeviceError(NOBODY)).then_rejected(Code.NOT_FOUND)


@pytest.mark.req("DI-09")
def test_what_runs_on_a_device_in_error_may_end():
    scenario = with_work(ONE.running()).when(ReportDeviceError(D1)).then(DeviceQuarantined)
    scenario.when(ONE.completes())
    assert told(scenario, AttemptSucceeded)


@pytest.mark.req("DI-09")
def test_a_failure_on_a_device_in_error_waits_until_it_is_well():
    scenario = with_work(ONE.running()).when(ReportDeviceError(D1)).when(ONE.fails())
    assert told(scenario, RetryScheduled)[0].due is None
    assert work_of(scenario, ONE).phase is Phase.WAITING


@pytest.mark.req("DI-09")
def test_a_reset_of_a_device_in_error_leaves_what_it_runs():
    scenario = with_work(ONE.running()).when(ReportDeviceError(D1)).when(ResetDevice(D1)).then(DeviceReleased)
    assert (work_of(scenario, ONE).phase, phone(scenario, D1).status) == (Phase.RUNNING, DeviceStatus.BUSY)
