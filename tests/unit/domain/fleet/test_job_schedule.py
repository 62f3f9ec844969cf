"""Jobs that are scheduled for later: they wait for a time of the wall clock, and their 24 hours count from it."""

from datetime import timedelta

import pytest

from drover.domain.errors import Code
from drover.domain.event import TermStarted
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import (
    CancelJob,
    DeactivateJob,
    PauseJob,
    ResumeJob,
    RunJobNext,
    ScheduleJob,
)
from drover.domain.fleet.events import (
    AttemptCreated,
    JobActivated,
    JobCameDue,
    JobCancelled,
    JobCreated,
    JobDeactivated,
    JobExpired,
    JobPaused,
    JobReopened,
    JobResumed,
    JobScheduled,
    SupplyAdvanced,
)
from drover.domain.fleet.policy import JOB_LIVES, SCHEDULED_AHEAD_MAX
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import J1, J2, Work, active, at, create, created, farm

SOON = at(hours=2)
STARTS = (JobActivated(J1), SupplyAdvanced, AttemptCreated)


def scheduled(not_before=SOON, **fields):
    """A phone is free, and a job waits for its time."""
    return given(FLEET, *farm(1)).when(create(J1, not_before=not_before, **fields)).then(JobCreated)


def test_a_scheduled_job_starts_at_its_time_and_not_before():
    scenario = scheduled()
    assert scenario.state.queue == []
    assert FLEET.next_deadline(scenario.state) == SOON
    scenario.after(hours=2, microseconds=-1).ticked().then_nothing()
    scenario.after(microseconds=1).ticked().then(JobCameDue(J1), *STARTS)
    assert not scenario.state.jobs[J1].is_scheduled


def test_other_jobs_run_while_it_waits():
    scheduled().when(create(J2)).then(JobCreated, JobActivated(J2), SupplyAdvanced, AttemptCreated)


def test_when_its_time_comes_it_waits_for_the_active_job_as_others_do():
    scenario = given(FLEET, *farm(1), *active(J2), *Work(job=J2).running())
    scenario.when(create(J1, not_before=at(minutes=1))).then(JobCreated)
    scenario.after(minutes=1).ticked().then(JobCameDue(J1))
    assert [job_id for _, job_id in scenario.state.queue] == [J1]


def test_its_24_hours_count_from_its_time():
    scenario = given(FLEET).when(create(J1, not_before=SOON))
    scenario.after(hours=2).ticked().then(JobCameDue(J1))
    scenario.after(seconds=JOB_LIVES.total_seconds() - 1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(JobExpired)


def test_after_a_long_stop_it_comes_due_before_it_expires():
    scenario = given(FLEET).when(create(J1, not_before=SOON)).after(days=9)
    scenario.ticked().then(JobCameDue(J1), JobExpired)


def test_a_waiting_job_can_be_scheduled_and_the_time_changed():
    scenario = given(FLEET, created(J1)).when(ScheduleJob(J1, SOON)).then(JobScheduled(J1, SOON))
    assert scenario.state.queue == []
    scenario.when(ScheduleJob(J1, SOON)).then_nothing()
    scenario.when(ScheduleJob(J1, at(hours=1))).then(JobScheduled(J1, at(hours=1)))
    scenario.after(hours=1).ticked().then(JobCameDue(J1))
    assert [job_id for _, job_id in scenario.state.queue] == [J1]


def test_it_can_be_started_at_once():
    scenario = scheduled(at(days=10)).after(days=5).when(ScheduleJob(J1, None)).then(JobScheduled(J1, None), *STARTS)
    scenario.when(ScheduleJob(J1, None)).then_nothing()
    assert scenario.state.jobs[J1].expires_at == at(days=5) + JOB_LIVES


def test_a_job_that_was_put_first_and_is_then_scheduled_takes_its_ordinary_place():
    scenario = given(FLEET, created(J1), created(J2)).when(RunJobNext(J2)).when(ScheduleJob(J2, SOON))
    scenario.after(hours=2).ticked().then(JobCameDue(J2))
    assert [job_id for _, job_id in scenario.state.queue] == [J1, J2]


def test_a_scheduled_job_cannot_be_put_first():
    scheduled().when(RunJobNext(J1)).then_rejected(Code.CONFLICT, job_id=J1, not_before=SOON)


def test_the_active_job_cannot_be_scheduled():
    scenario = given(FLEET, *farm(1), *active(J1))
    scenario.when(ScheduleJob(J1, SOON)).then_rejected(Code.CONFLICT, status="active")
    scenario.when(ScheduleJob(J1, None)).then_nothing()


def test_a_paused_job_stays_paused_when_its_time_comes():
    scenario = scheduled().when(PauseJob(J1)).then(JobPaused)
    scenario.after(hours=2).ticked().then(JobCameDue(J1))
    assert scenario.state.queue == []
    scenario.when(ResumeJob(J1)).then(JobResumed, *STARTS)


def test_a_paused_job_that_is_resumed_still_waits_for_its_time():
    scenario = scheduled().when(PauseJob(J1)).when(ResumeJob(J1)).then(JobResumed)
    scenario.after(hours=2).ticked().then(JobCameDue(J1), *STARTS)


def test_a_paused_job_can_be_scheduled():
    scenario = given(FLEET, created(J1, is_active=False)).when(ScheduleJob(J1, SOON)).then(JobScheduled(J1, SOON))
    scenario.after(hours=2).ticked().then(JobCameDue(J1))
    assert scenario.state.queue == []


def test_a_cancelled_job_does_not_come_due():
    scenario = scheduled().when(CancelJob(J1)).then(JobCancelled(J1, 1))
    scenario.after(hours=2).ticked().then_nothing()


def test_a_job_that_is_opened_again_waits_for_its_time_again():
    scenario = scheduled().when(DeactivateJob(J1)).then(JobDeactivated)
    scenario.when(ResumeJob(J1)).then(JobReopened(J1, SOON))
    scenario.after(hours=2).ticked().then(JobCameDue(J1), *STARTS)


def test_a_job_that_is_opened_again_after_its_time_starts_at_once():
    scenario = scheduled(at(hours=30)).when(DeactivateJob(J1)).after(hours=1).when(ResumeJob(J1))
    scenario.when(DeactivateJob(J1)).after(hours=30).when(ResumeJob(J1)).then(JobReopened(J1), *STARTS)
    assert scenario.state.jobs[J1].expires_at == at(hours=30) + JOB_LIVES


@pytest.mark.parametrize("not_before", [at(), at(seconds=-1), at(seconds=1) + SCHEDULED_AHEAD_MAX])
def test_a_time_that_has_passed_or_is_too_far_ahead_is_refused(not_before):
    about = {"field": "not_before", "value": not_before.isoformat()}
    scenario = given(FLEET, created(J1))
    scenario.when(create(J2, not_before=not_before)).then_rejected(Code.VALIDATION_ERROR, **about)
    scenario.when(ScheduleJob(J1, not_before)).then_rejected(Code.VALIDATION_ERROR, **about)
    scenario.when(ScheduleJob(J1, at() + SCHEDULED_AHEAD_MAX)).then(JobScheduled)


def test_a_job_that_has_ended_or_never_was_has_no_time():
    given(FLEET).when(ScheduleJob(J1, SOON)).then_rejected(Code.NOT_FOUND)
    given(FLEET, created(J1)).when(CancelJob(J1)).when(ScheduleJob(J1, SOON)).then_rejected(Code.CONFLICT)


@pytest.mark.req("YR-13")
def test_it_follows_the_wall_clock_when_the_partition_is_ahead():
    scenario = scheduled()
    scenario.given(TermStarted(2, "w", ahead_s=timedelta(hours=3).total_seconds()))
    scenario.after(hours=5, microseconds=-1).ticked().then_nothing()
    scenario.after(microseconds=1).ticked().then(JobCameDue(J1), *STARTS)


@pytest.mark.req("YR-13")
def test_its_bounds_follow_the_wall_clock_too():
    scenario = given(FLEET, created(J1), TermStarted(2, "w", ahead_s=3600.0)).after(hours=1)
    scenario.when(ScheduleJob(J1, at())).then_rejected(Code.VALIDATION_ERROR)
    scenario.when(ScheduleJob(J1, at(seconds=1))).then(JobScheduled)
    scenario.after(seconds=1).ticked().then(JobCameDue(J1))


def test_the_answer_says_that_it_is_scheduled():
    scheduled().then_answers(not_before=SOON, is_scheduled=True)
