"""`is_active` is a switch: off cancels what is pending, on opens the job for whoever has not completed it."""

import pytest

from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import AssignJob, CancelJob, DeactivateJob, ResumeJob
from drover.domain.fleet.events import AttemptCreated, JobActivated, JobReopened, Target
from drover.domain.fleet.state import JobStatus
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
    farm,
    fleet_of,
    job_of,
    online,
    pc,
    posted_id,
    told,
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
def test_a_job_of_yesterday_stays_off():
    scenario = given(FLEET, *farm(1)).when(create(J1, is_active=False)).when(DeactivateJob(J1))
    scenario.after(hours=23, minutes=59)
    assert fleet_of(scenario.when(ResumeJob(J1))).open_jobs == 1
    scenario.when(DeactivateJob(J1)).after(minutes=1).when(ResumeJob(J1)).then_rejected(Code.CONFLICT)


@pytest.mark.req("DI-10")
def test_a_cancelled_job_stays_cancelled():
    scenario = given(FLEET, *farm(1)).when(create(J1)).when(CancelJob(J1))
    scenario.when(ResumeJob(J1)).then_rejected(Code.CONFLICT, status="cancelled")
