"""`is_active` is a switch: off cancels what is pending, on opens the job for whoever has not completed it."""

import pytest

from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import AssignJob, CancelAssignment, CancelJob, DeactivateJob, MarkOnline, ResumeJob
from drover.domain.fleet.events import AssignmentReopened, AttemptCreated, JobActivated, JobReopened, Target
from drover.domain.fleet.state import AssignmentStatus, JobStatus
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import (
    D1,
    D2,
    D3,
    J1,
    Work,
    active,
    create,
    created,
    device_id,
    farm,
    fleet_of,
    job_of,
    online,
    pc,
    posted_id,
    registered,
    told,
    work_of,
)

ONE, TWO, THREE = Work(D1), Work(D2, number=2), Work(D3, number=3)


@pytest.mark.req("DI-10")
def test_switched_on_again_it_goes_to_whoever_has_not_completed_it():
    scenario = given(FLEET, *farm(3), *active(), *ONE.running(), *TWO.running(), *THREE.offered())
    scenario.when(ONE.completes()).when(TWO.fails("E3002")).when(DeactivateJob(J1))
    assert job_of(scenario).status is JobStatus.DEACTIVATED
    scenario.when(ResumeJob(J1))
    assert told(scenario, JobReopened) and told(scenario, JobActivated)
    assert {event.device_id for event in told(scenario, AttemptCreated)} == {D3}, "the second is in error"
    assert job_of(scenario).ran.keys() == {D1}


@pytest.mark.req("DI-10")
def test_what_still_runs_is_not_given_out_again():
    scenario = given(FLEET, *farm(1), *active(), *ONE.running()).when(DeactivateJob(J1)).when(ResumeJob(J1))
    assert told(scenario, AttemptCreated) == []
    scenario.when(ONE.completes())
    assert job_of(scenario).status is JobStatus.COMPLETED


@pytest.mark.req("DI-10", "DI-11")
def test_devices_that_were_assigned_by_name_stay_assigned():
    scenario = given(FLEET, pc(), *online(D1), *online(D2), created(target=Target(device_ids=())))
    scenario.when(AssignJob(posted_id(1), J1, D2)).when(DeactivateJob(J1)).when(ResumeJob(J1))
    assert {event.device_id for event in told(scenario, AttemptCreated)} == {D2}


@pytest.mark.req("DI-10")
def test_what_was_assigned_by_name_is_pending_again_under_the_same_id_also_before_its_turn():
    named = Work(D2, id=posted_id(1))
    scenario = given(FLEET, pc(), *online(D1), registered(D2), created(target=Target(device_ids=())))
    scenario.when(AssignJob(named.id, J1, D2)).when(DeactivateJob(J1))
    assert fleet_of(scenario).ended[named.id].status is AssignmentStatus.CANCELLED
    scenario.when(ResumeJob(J1)).then(JobReopened(J1), AssignmentReopened(*named.of))
    assert work_of(scenario, named).status is AssignmentStatus.PENDING
    assert FLEET.answer(scenario.decision.events) is None
    scenario.when(AssignJob(posted_id(2), J1, D2)).then_nothing()
    scenario.when(MarkOnline(D2))
    assert [(event.assignment_id, event.run) for event in told(scenario, AttemptCreated)] == [(named.id, 1)]


@pytest.mark.req("DI-10")
def test_an_offer_of_what_was_assigned_by_name_is_made_again_as_a_later_run():
    named = Work(D1, id=posted_id(1))
    scenario = given(FLEET, *farm(1), created(target=Target(device_ids=()))).when(AssignJob(named.id, J1, D1))
    scenario.when(DeactivateJob(J1)).when(ResumeJob(J1))
    (again,) = told(scenario, AttemptCreated)
    assert (again.assignment_id, again.run, again.attempt) == (named.id, 2, 1)


@pytest.mark.req("DI-10")
def test_what_a_person_cancelled_stays_cancelled_when_its_job_is_opened_again():
    named = Work(D2, id=posted_id(1))
    scenario = given(FLEET, pc(), registered(D1), registered(D2), created(target=Target(device_ids=())))
    scenario.when(AssignJob(named.id, J1, D2)).when(AssignJob(posted_id(2), J1, D1)).when(CancelAssignment(named.id))
    scenario.when(DeactivateJob(J1)).when(ResumeJob(J1))
    assert [event.device_id for event in told(scenario, AssignmentReopened)] == [D1]
    assert named.id in fleet_of(scenario).ended


@pytest.mark.req("DI-10")
def test_a_job_that_is_switched_off_while_its_assignments_are_opened_again_keeps_the_rest_for_the_next_time():
    phones = [device_id(number) for number in range(1, 151)]
    of_phones = [registered(phone) for phone in phones]
    scenario = given(FLEET, pc(), *of_phones, created(target=Target(device_ids=())))
    for number, phone in enumerate(phones):
        scenario.when(AssignJob(posted_id(number), J1, phone))
    scenario.when(DeactivateJob(J1)).ticked().ticked()
    assert not job_of(scenario).live
    scenario.when(ResumeJob(J1)).when(DeactivateJob(J1)).ticked().ticked()
    scenario.when(ResumeJob(J1)).ticked().ticked()
    assert job_of(scenario).live.keys() == set(phones)
    assert not fleet_of(scenario).reopening


@pytest.mark.req("DI-10")
def test_a_job_of_yesterday_stays_off():
    scenario = given(FLEET, *farm(1)).when(create(J1, is_active=False)).when(DeactivateJob(J1))
    scenario.after(hours=23, minutes=59)
    assert fleet_of(scenario.when(ResumeJob(J1))).open_jobs == 1
    scenario.when(DeactivateJob(J1)).after(minutes=1).when(ResumeJob(J1)).then_rejected(Code.CONFLICT)


@pytest.mark.req("DI-10")
def test_a_cancelled_job_stays_cancelled():
    scenario = given(FLEET, *farm(1)).when(create(J1)).when(CancelJob(J1))
    scenario.when(ResumeJob(J1)).then_rejected(Code.CONFLICT, status="cancelled")
