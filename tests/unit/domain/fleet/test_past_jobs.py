"""The state remembers ended jobs for a day, but only the last ones, and each for twenty minutes at least."""

import pytest

from drover.domain.errors import Code
from drover.domain.fleet import FLEET, evolve_past
from drover.domain.fleet.commands import AssignJob, CancelJob, DeactivateJob, PauseJob, ReportFailed, ResumeJob
from drover.domain.fleet.events import JobArchived, JobReopened
from drover.domain.fleet.timer_keys import job_timer
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import D1, D2, J1, J2, J3, begin, create, farm, job_id, posted_id, work_in_hand

pytestmark = pytest.mark.req("YR-10")


@pytest.fixture(autouse=True)
def window(monkeypatch):
    monkeypatch.setattr(evolve_past, "PAST_JOBS_MAX", 2)
    monkeypatch.setattr(evolve_past, "PAST_ASSIGNMENTS_MAX", 4)


def archived(scenario):
    return [event.job_id for event in scenario.decision.events if isinstance(event, JobArchived)]


def done(scenario, job):
    """Run the job on the one phone there is."""
    begin(scenario.when(create(job)), D1).when(work_in_hand(scenario, D1).completes())
    return scenario.ticked()


def test_the_oldest_leaves_when_too_many_have_ended():
    scenario = given(FLEET, *farm(1))
    for job in (J1, J2, J3):
        done(scenario, job)
    scenario.after(minutes=20, seconds=-1).ticked().then_nothing()
    assert archived(scenario.after(seconds=1).ticked()) == [J1]
    assert archived(scenario.after(hours=23, minutes=39).ticked()) == []
    assert archived(scenario.after(minutes=1).ticked()) == [J2, J3]


def test_it_is_remembered_for_twenty_minutes_after_its_last_assignment():
    scenario = begin(given(FLEET, *farm(1)).when(create(J1)), D1)
    work = work_in_hand(scenario, D1)
    scenario.when(CancelJob(J1)).after(minutes=19).when(work.completes())
    for job in (J2, J3):
        done(scenario, job)
    scenario.after(minutes=19).ticked().then_nothing()
    scenario.when(work.completes()).then_rejected(Code.CONFLICT, status="completed")
    assert archived(scenario.after(minutes=1).ticked()) == [J1]
    scenario.when(work.completes()).then_rejected(Code.NOT_FOUND)


def test_a_deactivated_job_can_be_opened_again_however_many_others_have_ended():
    scenario = given(FLEET, *farm(1)).when(create(J1)).when(DeactivateJob(J1))
    for number in range(2, 9):
        done(scenario, job_id(number)).after(minutes=30).ticked()
    assert isinstance(scenario.when(ResumeJob(J1)).decision.events[0], JobReopened)


def test_deactivated_jobs_leave_when_too_many_of_them_have_followed():
    scenario = given(FLEET, *farm(1))
    for job in (J1, J2, J3):
        scenario.when(create(job)).when(DeactivateJob(job))
    assert archived(scenario.after(minutes=20).ticked()) == [J1]
    scenario.when(ResumeJob(J1)).then_rejected(Code.NOT_FOUND)


def test_a_job_that_was_opened_again_does_not_leave():
    scenario = given(FLEET, *farm(1))
    for job in (J1, J2, J3):
        scenario.when(create(job)).when(DeactivateJob(job))
    scenario.when(ResumeJob(J1))
    assert archived(scenario.after(minutes=30).ticked()) == []
    assert scenario.state.shelved.sizes.keys() == {job_timer(J2), job_timer(J3)}


def test_the_last_job_stays_however_large_it_is():
    scenario = given(FLEET, *farm(6)).when(create(J1)).when(CancelJob(J1)).ticked()
    assert scenario.state.past.size > evolve_past.PAST_ASSIGNMENTS_MAX
    assert archived(scenario.after(hours=23).ticked()) == []


def test_offers_that_were_taken_back_are_forgotten_but_not_those_that_are_opened_again(monkeypatch):
    monkeypatch.setattr(evolve_past, "TAKEN_BACK_MAX", 1)
    scenario = given(FLEET, *farm(2)).when(create(J1, is_active=False))
    for number, phone in enumerate((D1, D2), 1):
        scenario.when(AssignJob(posted_id(number), J1, phone))
    scenario.when(DeactivateJob(J1)).ticked().when(ResumeJob(J1)).ticked()
    assert {posted_id(1), posted_id(2)} <= scenario.state.assignments.keys()


def test_failures_of_an_open_job_are_never_forgotten():
    """A phone where the job failed does not get it again by itself, however long the job goes on."""
    scenario = given(FLEET, *farm(2)).when(create(J1))
    begin(scenario, D1)
    work = work_in_hand(scenario, D1)
    scenario.when(ReportFailed(work.id, 1, error_code="E2004", retry_count=3)).when(PauseJob(J1))
    for number in range(2, 9):
        scenario.when(create(job_id(number))).when(CancelJob(job_id(number)))
    scenario.after(hours=2).ticked()
    assert scenario.state.jobs[J1].ran == {D1: work.id}
    assert work.id in scenario.state.ended
