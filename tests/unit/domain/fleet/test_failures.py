"""What follows from a failed attempt: every row of the table of error codes, and failures in a row."""

from datetime import timedelta

import pytest

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import ClearCondition, MarkOnline, ResetDevice
from drover.domain.fleet.events import (
    AttemptCreated,
    AttemptFailed,
    AttemptFailedFinal,
    DeviceQuarantined,
    DeviceReset,
    JobCompleted,
    JobDeactivated,
    RetryScheduled,
)
from drover.domain.fleet.state import DeviceStatus, JobStatus
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import (
    D1,
    D2,
    J1,
    J2,
    Work,
    active,
    at,
    begin,
    create,
    farm,
    in_hand,
    job_of,
    phone,
    told,
    work_in_hand,
)

ONE, TWO = Work(D1), Work(D2, number=2)


def running(attempt=1, *, after="E1002"):
    """Attempt so and so runs; the second phone keeps the job going."""
    return given(FLEET, *farm(2), *active(), *ONE.running(attempt, after=after), *TWO.running())


RETRIED = [
    # code, rule, seconds before the second attempt, before the third (None: there is none)
    ("E1001", "CONNECTION_FAILED", 5, 10),
    ("CONNECTION_FAILED", "CONNECTION_FAILED", 5, 10),
    ("E1002", "REQUEST_TIMEOUT", 5, 5),
    ("REQUEST_TIMEOUT", "REQUEST_TIMEOUT", 5, 5),
    ("E1003", "RATE_LIMITED", 60, 60),
    ("RATE_LIMITED", "RATE_LIMITED", 60, 60),
    ("E2004", "VIDEO_NETWORK_ERROR", 10, 10),
    ("VIDEO_NETWORK_ERROR", "VIDEO_NETWORK_ERROR", 10, 10),
    ("PLAYBACK_STALLED", "PLAYBACK_STALLED", 5, 5),
    ("E3001", "APP_CRASH", 5, 5),
    ("APP_CRASH", "APP_CRASH", 5, 5),
    ("E4001", "UNKNOWN", 10, None),
    ("UNKNOWN", "UNKNOWN", 10, None),
    ("SOMETHING_NEW", "UNKNOWN", 10, None),
    ("E9999", "UNKNOWN", 10, None),
]


@pytest.mark.req("DF-17", "DF-22", "OQ-07", "EV-04")
@pytest.mark.parametrize(("code", "rule", "first", "second"), RETRIED)
def test_a_failure_is_retried_after_its_delay_while_attempts_remain(code, rule, first, second):
    scenario = running()
    for run, delay in ((1, first), (2, second)):
        if delay is None:
            break
        scenario.when(ONE.fails(code, run))
        (failed,) = told(scenario, AttemptFailed)
        assert (failed.code, failed.rule, failed.attempt, failed.blamed) == (code, rule, run, True)
        due = scenario.now + timedelta(seconds=delay)
        assert [retry.due for retry in told(scenario, RetryScheduled)] == [due]
        scenario.after(seconds=delay - 1).ticked().then_nothing()
        scenario.after(seconds=1).ticked().then(ONE.created(run + 1))
        begin(scenario, D1)


@pytest.mark.req("DF-17", "DF-22", "OQ-07", "OQ-08", "EV-04")
@pytest.mark.parametrize(
    ("code", "attempts"),
    [(code, 3 if second else 2) for code, _, _, second in RETRIED if code not in ("E3001", "APP_CRASH")],
)
def test_with_the_last_attempt_the_assignment_has_failed_and_the_device_is_in_error_for_an_hour(code, attempts):
    scenario = running(attempts, after=code).when(ONE.fails(code, attempts, error_message="again"))
    scenario.then(
        ONE.failed(code, attempts, message="again"),
        ONE.final(code, attempts, message="again"),
        DeviceQuarantined(D1, ONE.failed(code).rule, at(minutes=60), None, J1),
    )
    scenario.then_answers(status="failed", retry_count=attempts, error_code=code)
    assert phone(scenario, D1).status is DeviceStatus.ERROR
    assert job_of(scenario).failed == 1


@pytest.mark.req("OQ-08")
def test_a_device_in_error_gets_no_work():
    scenario = running(3).when(ONE.fails(run=3)).when(create(J2))
    scenario.when(TWO.completes())
    assert [made.device_id for made in told(scenario, AttemptCreated)] == [D2]
    scenario.after(minutes=60).ticked()
    assert D1 in [made.device_id for made in told(scenario, AttemptCreated)]


# Crashes


@pytest.mark.req("DF-14", "DF-22", "DF-29")
@pytest.mark.parametrize("code", ["APP_CRASH", "E3001"])
def test_the_third_crash_puts_the_device_into_error_for_half_an_hour(code):
    scenario = running(3, after=code).when(ONE.fails(code, 3, error_message="it crashed"))
    scenario.then(
        ONE.failed(code, 3, message="it crashed"),
        ONE.final(code, 3, message="YouTube app crashed 3 times consecutively"),
        DeviceQuarantined(D1, "APP_CRASH", at(minutes=30), None, J1),
    )


@pytest.mark.req("DF-14")
def test_the_answer_to_the_third_crash_has_its_text_too():
    running(3, after="E3001").when(ONE.fails("E3001", 3, error_message="it crashed")).then_answers(
        status="failed", error_message="YouTube app crashed 3 times consecutively"
    )


@pytest.mark.req("DF-14")
def test_a_crash_is_retried_after_five_seconds_from_the_beginning():
    scenario = running().when(ONE.runs(progress_pct=70)).when(ONE.fails("APP_CRASH"))
    scenario.then(ONE.failed("APP_CRASH"), ONE.retry(due=at(seconds=5)))
    scenario.after(seconds=5).ticked()
    assert in_hand(scenario, D1).progress_pct == 0


@pytest.mark.req("DF-14", "DF-18")
def test_an_advertisement_ends_with_the_attempt():
    scenario = running().when(ONE.runs(progress_pct=40, ad_playing=True)).when(ONE.fails("APP_CRASH"))
    assert in_hand(scenario, D1).ad_playing is False


@pytest.mark.req("DF-04", "DF-14")
def test_the_crash_limit_counts_across_jobs():
    scenario = running(2, after="APP_CRASH").when(create(J2)).when(ONE.fails("E2001", 2, farm_is_open=True))
    scenario.when(TWO.completes())
    begin(scenario, D1).when(work_in_hand(scenario, D1).fails("APP_CRASH"))
    assert told(scenario, DeviceQuarantined) == []  # two crashes so far
    scenario.after(seconds=5).ticked()
    begin(scenario, D1).when(work_in_hand(scenario, D1).fails("APP_CRASH", 2))
    (quarantined,) = told(scenario, DeviceQuarantined)
    assert quarantined.until == scenario.now + timedelta(minutes=30)
    assert [retry.due for retry in told(scenario, RetryScheduled)] == [None]  # when its device is well again


@pytest.mark.req("DF-14")
def test_a_success_ends_the_row_of_crashes():
    scenario = running(3, after="APP_CRASH").when(create(J2)).when(ONE.completes(3)).when(TWO.completes())
    assert (phone(scenario, D1).failures, phone(scenario, D1).crashes) == (0, 0)


@pytest.mark.req("DF-14")
def test_three_failures_of_which_one_is_no_crash_are_not_the_crash_limit():
    scenario = running(2, after="APP_CRASH").when(ONE.fails("E1002", 2)).after(seconds=5).ticked()
    begin(scenario, D1).when(ONE.fails("APP_CRASH", 3, error_message="it crashed"))
    assert told(scenario, AttemptFailedFinal)[0].message == "it crashed"
    assert told(scenario, DeviceQuarantined)[0].until == scenario.now + timedelta(minutes=60)


# Three in a row


@pytest.mark.req("DF-04")
def test_the_third_failure_in_a_row_puts_the_device_into_error_whatever_they_were():
    scenario = running(2, after="E1001").when(ONE.fails("E2004", 2)).after(seconds=10).ticked()
    assert phone(scenario, D1).failures == 2
    begin(scenario, D1).when(ONE.fails("E1003", 3))
    assert told(scenario, DeviceQuarantined)[0].until == scenario.now + timedelta(minutes=60)


@pytest.mark.req("DF-04", "OQ-08")
def test_the_third_failure_in_a_row_counts_across_jobs_and_its_retry_waits_for_the_device():
    # Two failures, then one that is no fault of the device and ends the job.
    scenario = running(3).when(create(J2)).when(ONE.fails("E2001", 3, farm_is_open=True))
    scenario.when(TWO.completes())
    other = work_in_hand(scenario, D1)
    begin(scenario, D1).when(other.fails("E1002")).then(
        other.failed("E1002"), other.retry(due=None), DeviceQuarantined(D1, "REQUEST_TIMEOUT", at(minutes=60), None, J2)
    )
    scenario.after(minutes=60).ticked()
    assert in_hand(scenario, D1).run == 2


@pytest.mark.req("DF-04")
def test_a_success_ends_the_row():
    scenario = running(3).when(create(J2)).when(ONE.completes(3)).when(TWO.completes())
    begin(scenario, D1).when(work_in_hand(scenario, D1).fails())
    assert told(scenario, DeviceQuarantined) == []


@pytest.mark.req("DF-04")
def test_an_error_that_is_over_begins_a_new_row():
    scenario = running(3).when(ONE.fails(run=3)).when(ResetDevice(D1)).then(DeviceReset)
    scenario.when(MarkOnline(D1)).when(create(J2)).when(TWO.completes())
    begin(scenario, D1).when(work_in_hand(scenario, D1).fails())
    assert told(scenario, DeviceQuarantined) == []


# Failures that speak of the job


@pytest.mark.req("DF-15", "DF-22", "OQ-08")
@pytest.mark.parametrize("code", ["VIDEO_UNAVAILABLE", "E2001", "VIDEO_REGION_BLOCKED", "E2002"])
def test_a_video_that_is_not_there_ends_the_job_for_every_device_and_punishes_none(code):
    rule = ONE.failed(code).rule
    pending = Work("00000000-0000-7000-8000-000000000003", number=3)
    scenario = given(FLEET, *farm(3), *active(), *ONE.running(), *TWO.running(), *pending.offered())
    scenario.when(ONE.fails(code, farm_is_open=True)).then(
        ONE.failed(code, blamed=False),
        ONE.final(code, counts=True),
        JobDeactivated(J1, rule),
        pending.withdrawn("deactivated"),
        pending.cancelled("deactivated"),
    )
    assert job_of(scenario).status is JobStatus.DEACTIVATED
    assert phone(scenario, D1).status is DeviceStatus.ONLINE
    assert phone(scenario, D1).failures == 0
    assert phone(scenario, D2).status is DeviceStatus.BUSY  # a running attempt may finish


@pytest.mark.req("DF-15")
def test_the_same_said_by_the_next_device_ends_nothing_twice():
    scenario = running().when(ONE.fails("E2001", farm_is_open=True))
    scenario.when(TWO.fails("E2001")).then(TWO.failed("E2001", blamed=False), TWO.final("E2001", counts=True))


@pytest.mark.req("DF-15", "OQ-02")
def test_the_next_job_has_its_turn_when_a_video_is_not_there():
    scenario = running().when(create(J2)).when(ONE.fails("E2001", farm_is_open=True))
    assert in_hand(scenario, D1).job_id == J2


# Failures that speak of the device


@pytest.mark.req("DF-22", "OQ-08")
@pytest.mark.parametrize("code", ["E3002", "OUT_OF_MEMORY"])
def test_a_device_out_of_memory_is_in_error_until_somebody_resets_it(code):
    scenario = (
        running()
        .when(ONE.fails(code))
        .then(
            ONE.failed(code, blamed=False),
            ONE.final(code),
            DeviceQuarantined(D1, "OUT_OF_MEMORY", None, "needs_reset", J1),
            AlertRaised,
        )
    )
    scenario.after(hours=3).ticked()
    assert phone(scenario, D1).status is DeviceStatus.ERROR
    scenario.when(ClearCondition(D1, "battery_low")).then_nothing()
    scenario.when(ResetDevice(D1)).then(DeviceReset, AlertResolved)


@pytest.mark.req("DF-22")
@pytest.mark.parametrize("code", ["E3003", "SCREEN_LOCKED"])
def test_a_locked_screen_is_retried_when_it_is_unlocked_and_counts_an_attempt(code):
    scenario = running()
    for run in (1, 2):
        scenario.when(ONE.fails(code, run)).then(
            ONE.failed(code, run, blamed=False),
            ONE.retry(run, due=None),
            DeviceQuarantined(D1, "SCREEN_LOCKED", None, "screen_locked", J1),
        )
        scenario.when(ClearCondition(D1, "screen_locked"))
        begin(scenario, D1)
    scenario.when(ONE.fails(code, 3))
    assert told(scenario, AttemptFailedFinal)[0].attempt == 3
    assert phone(scenario, D1).error.condition == "screen_locked"
    assert phone(scenario, D1).failures == 0


@pytest.mark.req("DF-22")
@pytest.mark.parametrize("code", ["E3004", "BATTERY_LOW"])
def test_an_empty_battery_is_not_retried_and_the_device_is_in_error_until_it_is_charged(code):
    scenario = (
        running()
        .when(ONE.fails(code))
        .then(
            ONE.failed(code, blamed=False),
            ONE.final(code),
            DeviceQuarantined(D1, "BATTERY_LOW", None, "battery_low", J1),
        )
    )
    scenario.when(ClearCondition(D1, "battery_low"))
    assert phone(scenario, D1).status is DeviceStatus.ONLINE


@pytest.mark.req("OQ-07")
def test_a_task_that_the_back_office_fails_is_retried_up_to_three_times():
    scenario = running().when(ONE.fails("TASK_DEVICE_FAILED")).then(AttemptFailed, ONE.retry(due=at()))
    scenario = running(3, after="TASK_DEVICE_FAILED").when(ONE.fails("TASK_DEVICE_FAILED", 3))
    assert told(scenario, AttemptFailedFinal)[0].attempt == 3


@pytest.mark.req("DF-03", "DF-21")
def test_v007_no_mixture_of_failures_has_more_than_three_attempts():
    scenario = running(2, after="E3003").when(ONE.fails("E1001", 2)).after(seconds=10).ticked()
    begin(scenario, D1).when(ONE.fails("E2004", 3))
    assert told(scenario, AttemptFailedFinal)[0].attempt == 3


def test_the_last_failure_of_a_job_ends_it():
    scenario = given(FLEET, *farm(1), *active(), *ONE.running(3)).when(ONE.fails(run=3))
    scenario.then(ONE.failed(run=3), ONE.final("E1002", 3), DeviceQuarantined, JobCompleted(J1, 0, 1, 0))
