"""Whose turn it is: at most one ACTIVE job, the oldest that a device can run, never pre-empted."""

import pytest

from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import AssignJob, CancelAssignment, MarkOffline, MarkOnline, PauseJob, ResumeJob
from drover.domain.fleet.events import (
    AttemptCreated,
    AttemptSucceeded,
    DeviceCameOnline,
    DeviceHeld,
    DeviceHoldEnded,
    DeviceWentOffline,
    JobActivated,
    JobCompleted,
    JobCreated,
    JobReturned,
    SupplyAdvanced,
    Target,
)
from drover.domain.fleet.state import JobStatus
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import (
    D1,
    D2,
    D3,
    G1,
    G2,
    J1,
    J2,
    J3,
    Work,
    active,
    begin,
    create,
    created,
    farm,
    in_hand,
    job_of,
    online,
    pc,
    posted_id,
    registered,
    told,
    work_in_hand,
)


def active_job(scenario):
    active = [job.job_id for job in scenario.state.jobs.values() if job.status is JobStatus.ACTIVE]
    assert len(active) <= 1
    return active[0] if active else None


@pytest.mark.req("OQ-02")
def test_the_oldest_job_has_its_turn_and_the_others_wait():
    scenario = given(FLEET, created(J1), created(J2), *farm(0), registered(D1))
    scenario.when(MarkOnline(D1)).then(DeviceCameOnline, JobActivated(J1), SupplyAdvanced, AttemptCreated)
    assert active_job(scenario) == J1


@pytest.mark.req("OQ-02")
def test_a_second_job_waits_until_the_first_has_ended():
    work = Work()
    scenario = given(FLEET, *farm(1), *active(J1), *work.running()).when(create(J2)).then(JobCreated)
    scenario.when(work.completes()).then(
        AttemptSucceeded, JobCompleted(J1, 1, 0, 0), JobActivated(J2), SupplyAdvanced, AttemptCreated
    )
    assert active_job(scenario) == J2


@pytest.mark.req("OQ-02")
def test_free_devices_get_nothing_of_a_second_job_while_the_first_is_active():
    scenario = given(FLEET, *farm(2)).when(create(J1, target=Target(device_ids=(D1,))))
    scenario.when(create(J2)).then(JobCreated)
    assert scenario.state.devices[D2].assignment is None


@pytest.mark.req("OQ-02")
@pytest.mark.parametrize(
    "target",
    [Target(group_id=G2), Target(pc_id="pc2"), Target(pc_id="pc9"), Target(device_ids=(D2,)), Target(device_ids=())],
    ids=["group", "PC", "unknown PC", "list", "empty list"],
)
def test_a_job_for_absent_devices_does_not_block_the_rest(target):
    absent = [pc("pc2"), registered(D2, "pc2", G2)]
    scenario = given(FLEET, *farm(1), *absent).when(create(J1, target=target)).then(JobCreated)
    scenario.when(create(J2)).then(JobCreated, JobActivated(J2), SupplyAdvanced, AttemptCreated)


@pytest.mark.req("OQ-02")
def test_the_active_job_is_not_pre_empted_by_an_older_one_whose_devices_came():
    scenario = given(FLEET, *farm(1), registered(D2, group=G2)).when(create(J1, target=Target(group_id=G2)))
    scenario.when(create(J2, target=Target(group_id=G1)))
    scenario.when(MarkOnline(D2)).then(DeviceCameOnline)
    assert active_job(scenario) == J2
    begin(scenario, D1).when(work_in_hand(scenario, D1).completes())
    assert active_job(scenario) == J1


@pytest.mark.req("OQ-02")
def test_a_job_whose_devices_all_left_before_it_ran_returns_and_the_next_one_has_its_turn():
    scenario = given(FLEET, *farm(1), *online(D2, group=G2)).when(create(J1, target=Target(group_id=G2)))
    scenario.when(create(J2))
    scenario.when(MarkOffline(D2))
    assert [event.job_id for event in told(scenario, JobReturned)] == [J1]
    assert active_job(scenario) == J2
    assert job_of(scenario, J1).status is JobStatus.CREATED


@pytest.mark.req("OQ-02")
def test_a_job_that_ran_somewhere_ends_when_its_last_devices_left():
    first, second = Work(D1), Work(D2, number=2)
    scenario = given(FLEET, *farm(2), *active(), *first.running(), *second.offered())
    scenario.when(first.completes()).then(AttemptSucceeded)
    scenario.when(MarkOffline(D2)).then(
        second.withdrawn("offline"), second.cancelled("offline"), DeviceWentOffline, JobCompleted(J1, 1, 0, 1)
    )


@pytest.mark.req("OQ-02")
def test_a_returned_job_keeps_its_place_in_the_queue():
    scenario = given(FLEET, *farm(1)).when(create(J1)).when(create(J2)).when(create(J3))
    scenario.when(MarkOffline(D1))
    assert active_job(scenario) is None
    scenario.when(MarkOnline(D1))
    assert active_job(scenario) == J1


@pytest.mark.req("OQ-02")
def test_a_returned_job_is_tried_again_when_a_device_is_named_for_it():
    scenario = given(FLEET, *farm(2)).when(create(J1, target=Target(device_ids=(D1,)))).when(MarkOffline(D1))
    assert job_of(scenario).status is JobStatus.CREATED
    scenario.when(AssignJob(posted_id(1), J1, D2))
    assert in_hand(scenario, D2).assignment_id == posted_id(1)


@pytest.mark.req("OQ-02")
def test_a_job_whose_only_device_does_not_take_it_lets_the_next_one_try_other_devices():
    scenario = given(FLEET, *farm(1), *online(D2, group=G2)).when(create(J1, target=Target(group_id=G2)))
    scenario.when(create(J2, target=Target(group_id=G1)))
    scenario.after(seconds=90).ticked()
    assert len(told(scenario, DeviceHeld)) == 1
    assert [event.job_id for event in told(scenario, JobReturned)] == [J1]
    assert active_job(scenario) == J2


@pytest.mark.req("OQ-02")
def test_a_held_device_gets_its_job_again_when_the_hold_is_over():
    scenario = given(FLEET, *farm(1)).when(create(J1)).after(seconds=90).ticked()
    assert active_job(scenario) is None
    scenario.after(minutes=5).ticked().then(DeviceHoldEnded, JobActivated(J1), SupplyAdvanced, AttemptCreated)


@pytest.mark.req("OQ-02", "DF-06")
def test_a_resumed_job_stands_where_its_age_puts_it():
    scenario = given(FLEET, *farm(1)).when(create(J1)).when(PauseJob(J1))
    scenario.when(create(J2)).when(create(J3))
    assert active_job(scenario) == J2
    scenario.when(ResumeJob(J1))
    assert active_job(scenario) == J2
    begin(scenario, D1).when(work_in_hand(scenario, D1).completes())
    assert active_job(scenario) == J1


def test_a_job_that_nobody_can_take_is_not_tried_for_ever():
    """It is for one device, and that one place is taken by a device that is away."""
    scenario = given(FLEET, *farm(2), registered(D3)).when(create(J1, target=Target(count=1), is_active=False))
    scenario.when(AssignJob(posted_id(1), J1, D3)).when(ResumeJob(J1)).when(create(J2))
    assert active_job(scenario) == J2
    scenario.ticked().then_nothing()


def test_a_job_whose_last_assignment_is_cancelled_by_a_person_ends():
    work = Work()
    scenario = given(FLEET, *farm(1), *active(), *work.offered())
    scenario.when(CancelAssignment(work.id)).then(
        work.withdrawn("admin"), work.cancelled("admin"), JobCompleted(J1, 0, 0, 0)
    )
