"""The order of waiting jobs: put first by a person, then by priority, then by age. Nothing stops the ACTIVE job."""

import pytest

from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import CancelJob, MarkOnline, PauseJob, PrioritizeJob, ResumeJob, RunJobNext
from drover.domain.fleet.events import (
    AttemptCreated,
    DeviceCameOnline,
    JobActivated,
    JobCreated,
    JobPaused,
    JobPrioritized,
    JobPutFirst,
    JobResumed,
    JobReturned,
    SupplyAdvanced,
    Target,
)
from drover.domain.fleet.policy import PRIORITY_MAX
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import D1, G2, J1, J2, J3, Work, active, create, created, farm, online, registered

pytestmark = pytest.mark.req("OQ-02")


def order(scenario):
    return [job_id for _, job_id in scenario.state.queue]


def waiting(*jobs):
    """These jobs wait: there is a phone, but it is not heard."""
    return given(FLEET, *farm(0), registered(D1), *jobs)


def prioritized(job, priority):
    return [created(job), JobPrioritized(job, priority)]


def test_without_priorities_the_oldest_goes_first():
    assert order(waiting(created(J1), created(J2), created(J3))) == [J1, J2, J3]


def test_a_higher_priority_goes_first_and_of_equal_ones_the_oldest():
    scenario = waiting().when(create(J1)).when(create(J2, priority=5)).when(create(J3, priority=5))
    assert order(scenario) == [J2, J3, J1]
    scenario.when(MarkOnline(D1)).then(DeviceCameOnline, JobActivated(J2), SupplyAdvanced, AttemptCreated)


def test_a_negative_priority_goes_behind_the_default():
    assert order(waiting().when(create(J1, priority=-1)).when(create(J2))) == [J2, J1]


def test_a_job_that_no_device_can_run_lets_others_go_first_whatever_its_priority():
    elsewhere = Target(group_id=G2)
    scenario = waiting().when(create(J1)).when(create(J2, priority=PRIORITY_MAX, target=elsewhere))
    scenario.when(MarkOnline(D1)).then(DeviceCameOnline, JobActivated(J1), SupplyAdvanced, AttemptCreated)


def test_the_active_job_goes_on_when_a_higher_priority_comes():
    work = Work()
    scenario = given(FLEET, *farm(1), *active(J1), *work.running())
    scenario.when(create(J2, priority=PRIORITY_MAX)).then(JobCreated)
    assert scenario.state.active.job_id == J1


def test_a_priority_can_be_changed_while_the_job_waits():
    scenario = waiting(created(J1), created(J2)).when(PrioritizeJob(J2, 7)).then(JobPrioritized(J2, 7))
    assert order(scenario) == [J2, J1]
    assert scenario.state.jobs[J2].spec.priority == 7
    scenario.when(PrioritizeJob(J2, 7)).then_nothing()
    scenario.when(PrioritizeJob(J2, -7)).then(JobPrioritized(J2, -7))
    assert order(scenario) == [J1, J2]


def test_a_paused_job_keeps_the_priority_it_gets_and_takes_its_place_when_it_is_resumed():
    scenario = waiting(created(J1), created(J2)).when(PauseJob(J2)).then(JobPaused)
    scenario.when(PrioritizeJob(J2, 1)).then(JobPrioritized(J2, 1))
    assert order(scenario) == [J1]
    scenario.when(ResumeJob(J2)).then(JobResumed)
    assert order(scenario) == [J2, J1]


def test_the_priority_of_the_active_job_counts_once_it_waits_again():
    scenario = given(FLEET, *farm(1), *active(J1), *Work().running(), created(J2))
    scenario.when(PrioritizeJob(J1, -1)).then(JobPrioritized(J1, -1))
    assert scenario.state.active.job_id == J1


@pytest.mark.parametrize("priority", [-PRIORITY_MAX - 1, PRIORITY_MAX + 1])
def test_a_priority_beyond_its_bounds_is_refused(priority):
    scenario = waiting(created(J1))
    scenario.when(PrioritizeJob(J1, priority)).then_rejected(Code.VALIDATION_ERROR, field="priority", value=priority)
    scenario.when(create(J2, priority=priority)).then_rejected(Code.VALIDATION_ERROR, field="priority")


def test_run_next_puts_a_job_before_all_others_whatever_their_priority():
    scenario = waiting(*prioritized(J1, PRIORITY_MAX), created(J2), created(J3))
    scenario.when(RunJobNext(J3)).then(JobPutFirst(J3))
    assert order(scenario) == [J3, J1, J2]


def test_the_last_job_that_was_put_first_is_first():
    scenario = waiting(created(J1), created(J2), created(J3)).when(RunJobNext(J3)).when(RunJobNext(J2))
    assert order(scenario) == [J2, J3, J1]


def test_a_job_that_is_first_by_its_age_is_kept_there_by_run_next():
    scenario = waiting(created(J1)).when(RunJobNext(J1)).then(JobPutFirst(J1))
    scenario.when(RunJobNext(J1)).then_nothing()
    scenario.when(create(J2, priority=PRIORITY_MAX))
    assert order(scenario) == [J1, J2]


def test_run_next_gives_a_turn_at_once_where_no_job_is_active():
    elsewhere = Target(group_id=G2)
    scenario = given(FLEET, *farm(0), created(J1, elsewhere), created(J2, elsewhere), *online(D1))
    scenario.when(RunJobNext(J2)).then(JobPutFirst(J2))
    assert order(scenario) == [J2, J1]


def test_run_next_does_not_stop_the_active_job():
    scenario = given(FLEET, *farm(1), *active(J1), *Work().running(), created(J2))
    scenario.when(RunJobNext(J2)).then(JobPutFirst(J2))
    assert scenario.state.active.job_id == J1
    scenario.when(RunJobNext(J1)).then_nothing()


def test_a_job_that_found_no_device_keeps_its_place():
    scenario = waiting(created(J1), created(J2), JobPutFirst(J2), JobActivated(J2), JobReturned(J2))
    assert order(scenario) == [J2, J1]


def test_a_priority_or_a_pause_ends_run_next():
    scenario = waiting(created(J1), created(J2), JobPutFirst(J2))
    scenario.when(PrioritizeJob(J2, 0)).then(JobPrioritized(J2, 0))
    assert order(scenario) == [J1, J2]
    scenario.when(RunJobNext(J2)).when(PauseJob(J2)).when(ResumeJob(J2))
    assert order(scenario) == [J1, J2]


def test_a_paused_job_is_not_put_first():
    scenario = waiting(created(J1, is_active=False), created(J2), JobPaused(J2, "admin", None))
    for job in (J1, J2):
        scenario.when(RunJobNext(job)).then_rejected(Code.CONFLICT, job_id=job)


@pytest.mark.parametrize("command", [RunJobNext(J1), PrioritizeJob(J1, 1)])
def test_a_job_that_has_ended_or_never_was_has_no_place(command):
    waiting().when(command).then_rejected(Code.NOT_FOUND)
    waiting(created(J1)).when(CancelJob(J1)).when(command).then_rejected(Code.CONFLICT, status="cancelled")


def test_the_answer_and_the_event_have_the_priority():
    waiting().when(create(J1, priority=3)).then_answers(priority=3)
