"""What the clock does: 20 minutes after SENT, retries when they are due, and what a caller can ask it to do at once."""

from datetime import timedelta

import pytest

from drover.domain.decider import Tick
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import FireOverdue, PauseJob
from drover.domain.fleet.events import (
    AttemptCreated,
    AttemptFailedFinal,
    AttemptTimedOut,
    DeviceQuarantined,
    JobCompleted,
    RetryScheduled,
)
from drover.domain.fleet.state import DeviceStatus, Phase
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import (
    D1,
    D2,
    J1,
    Work,
    active,
    at,
    begin,
    create,
    created,
    farm,
    job_of,
    phone,
    told,
    work_of,
)

ONE, TWO = Work(D1), Work(D2, number=2)
TEXT = "Task device timeout: exceeded 20 minutes"


def running(attempt=1):
    return given(FLEET, *farm(1), *active(), *ONE.running(attempt))


@pytest.mark.req("OQ-06", "EV-04")
def test_20_minutes_after_sent_it_is_a_timeout_that_counts_an_attempt_and_is_retried():
    scenario = running().after(minutes=20, seconds=-1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(
        AttemptTimedOut(*ONE.attempt(), TEXT, blamed=True), ONE.retry(due=at(minutes=20)), ONE.created(run=2)
    )
    assert work_of(scenario, ONE).error_code == "TIMEOUT"
    assert work_of(scenario, ONE).error_message == TEXT


@pytest.mark.req("OQ-06", "OQ-13")
def test_the_20_minutes_begin_with_sent_and_not_with_the_start():
    scenario = given(FLEET, *farm(1)).when(create(J1)).after(seconds=60).when(ONE.fetch())
    scenario.after(seconds=50).when(ONE.runs())
    assert scenario.decision.events[0].timeout_at == at(minutes=21)
    scenario.now = at(minutes=21)
    scenario.ticked()
    assert len(told(scenario, AttemptTimedOut)) == 1


@pytest.mark.req("OQ-06", "DF-18")
def test_progress_does_not_put_the_timeout_off():
    scenario = running()
    for minute in range(1, 20):
        scenario.now = at(minutes=minute)
        scenario.when(ONE.runs(progress_pct=5 * minute, ad_playing=minute % 2 == 0))
    scenario.now = at(minutes=20)
    scenario.ticked()
    assert len(told(scenario, AttemptTimedOut)) == 1


@pytest.mark.req("OQ-06", "OQ-08")
def test_the_third_timeout_is_final_and_the_device_is_in_error_for_an_hour():
    scenario = (
        running(3)
        .after(minutes=20)
        .ticked()
        .then(
            AttemptTimedOut(*ONE.attempt(3), TEXT, blamed=True),
            ONE.final("TIMEOUT", 3, message=TEXT),
            DeviceQuarantined(D1, "TIMEOUT", at(minutes=80), None, J1),
            JobCompleted(J1, 0, 1, 0),
        )
    )
    assert phone(scenario, D1).status is DeviceStatus.ERROR


@pytest.mark.req("OQ-06")
def test_each_attempt_has_its_own_20_minutes():
    scenario = running().after(minutes=20).ticked()
    begin(scenario, D1).after(minutes=20, seconds=-1).ticked().then_nothing()
    scenario.after(seconds=1).ticked()
    assert told(scenario, AttemptTimedOut)[0].run == 2


@pytest.mark.req("OQ-06")
def test_a_timeout_of_a_paused_job_waits_for_its_job():
    scenario = running().when(PauseJob(J1)).after(minutes=20).ticked()
    scenario.then(AttemptTimedOut, ONE.retry(due=None))
    assert work_of(scenario, ONE).phase is Phase.WAITING


@pytest.mark.req("OQ-12")
def test_a_caller_can_have_what_is_overdue_fired():
    running().after(minutes=20).when(FireOverdue()).then(AttemptTimedOut, RetryScheduled, AttemptCreated).then_answers(
        timed_out=1
    )


@pytest.mark.req("OQ-12")
def test_where_nothing_is_overdue_nothing_is_fired():
    running().after(minutes=19).when(FireOverdue()).then_nothing()


def test_a_clock_that_wakes_too_early_does_nothing():
    running().when(Tick()).then_nothing()


@pytest.mark.req("OQ-06")
def test_what_is_overdue_after_a_long_stop_fires_in_the_order_it_was_due():
    scenario = begin(given(FLEET, *farm(2)).when(create(J1)), D1, D2).when(ONE.fails("E2004"))
    scenario.after(hours=23).ticked().then(
        ONE.created(run=2),
        AttemptTimedOut(*TWO.attempt(), TEXT, blamed=True),
        TWO.retry(due=at(hours=23)),
        TWO.created(run=2),
    )


def test_nothing_is_due_on_an_idle_farm():
    assert FLEET.next_deadline(given(FLEET, *farm(3)).state) is None


def test_the_next_deadline_is_the_earliest_of_all():
    scenario = given(FLEET, *farm(2), created()).when(create("11111111-0000-7000-8000-000000000005")).ticked()
    assert FLEET.next_deadline(scenario.state) == at(seconds=90)
    begin(scenario, D1, D2)
    assert FLEET.next_deadline(scenario.state) == at(minutes=20)
    scenario.when(ONE.fails("E1003"))
    assert FLEET.next_deadline(scenario.state) == at(seconds=60)


def test_a_job_that_nobody_can_run_is_due_only_when_it_expires():
    assert FLEET.next_deadline(given(FLEET, created()).state) == at(hours=24)


@pytest.mark.req("OQ-06", "OQ-08")
def test_a_phone_that_hangs_for_ever_is_left_alone_after_three_timeouts():
    scenario = given(FLEET, *farm(1)).when(create(J1))
    for _ in range(3):
        begin(scenario, D1).after(minutes=20).ticked()
    assert len(told(scenario, AttemptFailedFinal)) == 1
    assert job_of(scenario).failed == 1
    assert phone(scenario, D1).error.until == scenario.now + timedelta(minutes=60)
