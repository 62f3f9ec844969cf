"""Which devices a job is for: all, a group, a PC, a list, a number; and what it comes to need on its way."""

import pytest

from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import AssignJob, ChangeDevice, ClaimForPc, MarkOnline, MarkSilent
from drover.domain.fleet.events import (
    AttemptCreated,
    AttemptSucceeded,
    DeviceHeld,
    JobCompleted,
    JobNeedAdded,
    SupplyAdvanced,
    Target,
)
from drover.domain.fleet.state import DeviceStatus, JobStatus, Phase
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import (
    D1,
    D2,
    D3,
    D4,
    G1,
    G2,
    J1,
    Work,
    active,
    begin,
    create,
    farm,
    in_hand,
    job_of,
    online,
    pc,
    phone,
    posted_id,
    registered,
    told,
    work_in_hand,
    work_of,
)

AGE = ["age_verified"]
FOUR = [pc("pc1"), pc("pc2"), *online(D1), *online(D2, group=G2), *online(D3, "pc2"), *online(D4, "pc2", G2)]


def supplied(scenario):
    return {made.device_id for made in told(scenario, AttemptCreated)}


@pytest.mark.req("DF-02", "OQ-04")
@pytest.mark.parametrize(
    ("target", "devices"),
    [
        (None, {D1, D2, D3, D4}),
        (Target(), {D1, D2, D3, D4}),
        (Target(group_id=G2), {D2, D4}),
        (Target(pc_id="pc2"), {D3, D4}),
        (Target(device_ids=(D4, D1)), {D1, D4}),
        (Target(device_ids=(D1, D1)), {D1}),
        (Target(device_ids=()), set()),
    ],
)
def test_a_job_goes_to_its_targets_and_to_nobody_else(target, devices):
    assert supplied(given(FLEET, *FOUR).when(create(target=target))) == devices


@pytest.mark.req("DF-02")
@pytest.mark.parametrize(
    ("target", "count"),
    [(Target(count=3), 3), (Target(count=9), 4), (Target(group_id=G1, count=1), 1), (Target(pc_id="pc1", count=2), 2)],
)
def test_a_number_is_the_most_it_goes_to(target, count):
    assert len(supplied(given(FLEET, *FOUR).when(create(target=target)))) == count


@pytest.mark.req("DF-02", "DF-08")
def test_a_job_with_an_empty_list_goes_only_to_devices_that_are_named_later():
    scenario = given(FLEET, *FOUR).when(create(target=Target(device_ids=())))
    assert job_of(scenario).status is JobStatus.CREATED
    scenario.when(AssignJob(posted_id(1), J1, D3))
    assert supplied(scenario) == {D3}
    begin(scenario, D3).when(work_in_hand(scenario, D3).completes())
    scenario.then(AttemptSucceeded, JobCompleted(J1, completed=1, failed=0, skipped=0))


@pytest.mark.req("DF-08")
def test_a_device_outside_the_targets_becomes_one_by_name():
    scenario = given(FLEET, *FOUR).when(create(target=Target(group_id=G1))).when(AssignJob(posted_id(1), J1, D4))
    assert supplied(scenario) == {D4}


def test_a_device_that_registers_later_is_a_target_too():
    scenario = given(FLEET, *FOUR).when(create(target=Target(group_id=G1)))
    scenario.given(pc("pc3"), registered(device := "00000000-0000-7000-8000-000000000007", "pc3")).ticked()
    scenario.when(MarkOnline(device))
    assert supplied(scenario) == {device}


def test_a_number_of_devices_is_not_made_up_for_when_one_fails():
    scenario = given(FLEET, *farm(2), *active(target=Target(count=1)), *Work().running(3))
    scenario.when(Work().fails("E1002", 3))
    assert supplied(scenario) == set()
    assert job_of(scenario).status is JobStatus.COMPLETED


# Age restriction


@pytest.mark.req("DF-16", "DF-22")
@pytest.mark.parametrize("code", ["VIDEO_AGE_RESTRICTED", "E2003"])
def test_an_age_restricted_video_fails_here_only_and_goes_to_a_device_that_may_see_it(code):
    first, second = Work(D1), Work(D2, number=2)
    scenario = given(FLEET, pc(), *online(D1), *online(D2, capabilities=AGE))
    scenario.given(*active(target=Target(count=1)), *first.running())
    scenario.when(first.fails(code)).then(
        first.failed(code, blamed=False),
        first.final(code, replaced=True),
        JobNeedAdded(J1, "age_verified"),
        SupplyAdvanced,
        second.created(),
    )
    assert phone(scenario, D1).status is DeviceStatus.ONLINE
    assert phone(scenario, D1).failures == 0
    begin(scenario, D2).when(second.completes())
    assert job_of(scenario).status is JobStatus.COMPLETED
    assert job_of(scenario).completed == 1


@pytest.mark.req("DF-16")
def test_a_job_that_needs_age_verified_is_offered_to_nobody_without_it():
    scenario = given(FLEET, pc(capacity=1), *online(D1), *online(D2), *online(D3, capabilities=AGE))
    scenario.given(*active(), *Work().running()).when(Work().fails("E2003"))
    assert supplied(scenario) == {D3}
    scenario.when(MarkOnline(D2)).then_nothing()


@pytest.mark.req("DF-16")
def test_the_need_is_added_once():
    first, second = Work(D1), Work(D2, number=2)
    scenario = given(FLEET, *farm(2), *active(), *first.running(), *second.running())
    scenario.when(first.fails("E2003"))
    scenario.when(second.fails("E2003"))
    assert told(scenario, JobNeedAdded) == []


@pytest.mark.req("DF-16")
def test_it_stays_within_the_targets():
    scenario = given(FLEET, pc(), *online(D1), *online(D2, group=G2, capabilities=AGE))
    scenario.given(*active(target=Target(group_id=G1)), *Work().running()).when(Work().fails("E2003"))
    assert supplied(scenario) == set()
    assert told(scenario, JobCompleted)


@pytest.mark.req("DF-16")
def test_an_offer_that_its_device_could_not_run_any_more_is_taken_back_when_it_is_fetched():
    first, second = Work(D1), Work(D2, number=2)
    scenario = given(FLEET, *farm(2), *active(), *first.running(), *second.offered()).when(first.fails("E2003"))
    scenario.when(second.fetch()).then(second.withdrawn("needs"), second.cancelled("needs"), JobCompleted)


@pytest.mark.req("DF-16")
def test_what_runs_elsewhere_without_the_capability_may_end():
    first, second = Work(D1), Work(D2, number=2)
    scenario = given(FLEET, *farm(2), *active(), *first.running(), *second.running()).when(first.fails("E2003"))
    assert work_of(scenario, second).phase is Phase.RUNNING
    scenario.when(second.completes()).then(AttemptSucceeded, JobCompleted(J1, completed=1, failed=1, skipped=0))


@pytest.mark.req("DF-16")
def test_a_device_that_is_verified_later_gets_it():
    first, second = Work(D1), Work(D2, number=2)
    scenario = given(FLEET, *farm(2), *online(D3), *active(), *first.running(), *second.running())
    scenario.when(first.fails("E2003"))
    scenario.when(ChangeDevice(D3, capabilities=["age_verified"]))
    scenario.when(second.completes())
    assert in_hand(scenario, D3).job_id == J1


@pytest.mark.req("DF-16", "OQ-05")
def test_a_pc_that_claims_is_not_blamed_for_offers_that_its_phones_could_not_run_any_more():
    first, second = Work(D1), Work(D2, number=2)
    verified = online(D3, capabilities=AGE)
    scenario = given(FLEET, *farm(2), *verified, *active(), *first.running(), *second.offered())
    scenario.given(*Work(D3, number=3).running()).when(first.fails("E2003"))
    scenario.when(ClaimForPc("pc1", 20)).then(second.withdrawn("needs"), second.cancelled("needs"))
    assert not FLEET.answer(scenario.decision.events)  # nothing was claimed
    scenario.after(seconds=90).ticked()
    assert told(scenario, DeviceHeld) == []


def test_a_number_that_was_not_reached_shows_as_skipped():
    first, second = Work(D1), Work(D2, number=2)
    scenario = given(FLEET, pc(), *online(D1), *online(D2, capabilities=AGE))
    scenario.given(*active(target=Target(count=2)), *first.running(), *second.running())
    scenario.when(first.fails("E2003")).when(second.completes())
    scenario.then(AttemptSucceeded, JobCompleted(J1, completed=1, failed=1, skipped=1))


def test_an_absent_device_of_a_group_shows_as_skipped_also_where_another_was_named():
    first, named = Work(D1), Work(D3, id=posted_id(1))
    scenario = given(FLEET, pc(), *online(D1), registered(D2), *online(D3, group=G2))
    scenario.given(*active(target=Target(group_id=G1)), *first.running(), named.requested(), *named.running())
    scenario.when(first.completes()).when(named.completes())
    scenario.then(AttemptSucceeded, JobCompleted(J1, completed=2, failed=0, skipped=1))


def test_a_device_that_left_its_group_after_it_had_the_job_does_not_stand_for_one_that_was_absent():
    first, second = Work(D1), Work(D2, number=2)
    scenario = given(FLEET, *farm(2), registered(D3), *active(target=Target(group_id=G1)))
    scenario.given(*first.running(), *second.running()).when(first.completes())
    scenario.when(ChangeDevice(D1, group_id=G2)).when(second.completes())
    scenario.then(AttemptSucceeded, JobCompleted(J1, completed=2, failed=0, skipped=1))


def test_a_device_that_waits_for_its_retry_shows_as_skipped_also_where_it_left_the_group():
    first, second = Work(D1), Work(D2, number=2)
    scenario = given(FLEET, *farm(2), *active(target=Target(group_id=G1)), *first.running(), *second.running())
    scenario.when(MarkSilent(D2, scenario.now)).when(ChangeDevice(D2, group_id=G2)).when(first.completes())
    scenario.then(AttemptSucceeded, JobCompleted(J1, completed=1, failed=0, skipped=1), second.cancelled("completed"))


def test_a_named_device_that_was_absent_shows_as_skipped_also_where_the_number_was_reached():
    first, named = Work(D1), Work(D2, id=posted_id(1))
    scenario = given(FLEET, *farm(1), registered(D2), *active(target=Target(count=1)), *first.running())
    scenario.given(named.requested()).when(first.completes())
    scenario.then(AttemptSucceeded, JobCompleted(J1, completed=1, failed=0, skipped=1), named.cancelled("completed"))
