"""Slots are filled with exactly the missing number, as a consequence of whatever opened them."""

from datetime import timedelta

import pytest

from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import (
    DeactivateJob,
    MarkOffline,
    MarkOnline,
    MarkSilent,
    PauseJob,
    RegisterPc,
)
from drover.domain.fleet.events import (
    AssignmentCancelled,
    AttemptCreated,
    AttemptSucceeded,
    DeviceCameOnline,
    DeviceHeld,
    DeviceQuarantined,
    JobActivated,
    JobCompleted,
    JobCreated,
    JobDeactivated,
    PcCapacityChanged,
    PcHeld,
    SupplyAdvanced,
    Target,
)
from drover.domain.fleet.state import JobStatus, Phase
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import (
    D1,
    D2,
    D3,
    D4,
    G1,
    G2,
    J1,
    J2,
    Work,
    active,
    at,
    begin,
    create,
    device_id,
    farm,
    in_hand,
    job_of,
    online,
    pc,
    pc_of,
    phone,
    posted_id,
    registered,
    told,
    work_in_hand,
    work_of,
)

ONE, TWO, THREE = Work(D1), Work(D2, number=2), Work(D3, number=3)


def supplied(scenario):
    return [made.device_id for made in told(scenario, AttemptCreated)]


@pytest.mark.req("OQ-03", "OQ-04")
def test_a_new_job_fills_the_slots_of_a_pc_with_one_attempt_each():
    given(FLEET, *farm(2)).when(create(J1)).then(
        JobCreated, JobActivated(J1), SupplyAdvanced(J1, 1), ONE.created(), TWO.created()
    )


@pytest.mark.req("OQ-03", "OQ-04")
@pytest.mark.parametrize(
    ("phones", "capacity", "expected"),
    [(25, 20, 20), (20, 20, 20), (19, 20, 19), (10, 4, 4), (3, 20, 3), (1, 1, 1)],
)
def test_a_pc_gets_the_least_of_twenty_its_capacity_and_its_eligible_devices(phones, capacity, expected):
    scenario = given(FLEET, *farm(phones, capacity=capacity)).when(create(J1))
    assert len(supplied(scenario)) == len(set(supplied(scenario))) == expected
    assert pc_of(scenario).in_use == expected
    scenario.ticked().then_nothing()


@pytest.mark.req("OQ-03")
@pytest.mark.parametrize("state", ["offline", "in error", "of another group"])
def test_a_device_that_cannot_take_the_job_does_not_count(state):
    scenario = given(FLEET, *farm(2), registered(D3, group=G2))
    if state != "offline":
        scenario.given(DeviceCameOnline(D3))
    if state == "in error":
        scenario.given(DeviceQuarantined(D3, "APP_CRASH", at(minutes=30), None, None))
    scenario.when(create(J1, target=Target(group_id=G1) if state == "of another group" else None))
    assert supplied(scenario) == [D1, D2]


@pytest.mark.req("OQ-04")
def test_every_pc_gets_its_own_number():
    scenario = given(FLEET, *farm(3, 1, 25)).when(create(J1))
    by_pc = [made.pc_id for made in told(scenario, AttemptCreated)]
    assert {name: by_pc.count(name) for name in by_pc} == {"pc1": 3, "pc2": 1, "pc3": 20}


@pytest.mark.req("OQ-04")
def test_a_completion_supplies_the_next_device():
    scenario = given(FLEET, *farm(3, capacity=2), *active(), *ONE.running(), *TWO.running())
    scenario.when(ONE.completes()).then(AttemptSucceeded, THREE.created())


@pytest.mark.req("OQ-04")
def test_a_final_failure_supplies_the_next_device():
    scenario = given(FLEET, *farm(3, capacity=2), *active(), *ONE.running(3), *TWO.running())
    scenario.when(ONE.fails(run=3))
    assert supplied(scenario) == [D3]


@pytest.mark.req("OQ-04")
def test_two_open_slots_get_two_and_no_more():
    scenario = given(FLEET, *farm(5, capacity=2), *active(), *ONE.running(), *TWO.running())
    scenario.when(RegisterPc("pc1", 4)).then(PcCapacityChanged, AttemptCreated, AttemptCreated)
    assert pc_of(scenario).in_use == 4


@pytest.mark.req("OQ-03", "OQ-04")
def test_less_capacity_takes_nothing_back_and_supplies_nothing_until_there_is_room():
    scenario = given(FLEET, *farm(4, capacity=3), *active(), *ONE.running(), *TWO.running(), *THREE.running())
    scenario.when(RegisterPc("pc1", 1)).then(PcCapacityChanged)
    assert pc_of(scenario).in_use == 3
    scenario.when(ONE.completes()).then(AttemptSucceeded)
    scenario.when(TWO.completes()).then(AttemptSucceeded)
    scenario.when(THREE.completes())
    assert supplied(scenario) == [D4]


@pytest.mark.req("OQ-04")
def test_a_device_that_comes_online_gets_its_work_at_once():
    scenario = given(FLEET, *farm(1), registered(D2), *active(), *ONE.running())
    scenario.when(MarkOnline(D2)).then(DeviceCameOnline, TWO.created())


@pytest.mark.req("OQ-03")
def test_a_full_pc_gives_a_device_that_comes_online_nothing():
    scenario = given(FLEET, *farm(1, capacity=1), registered(D2), *active(), *ONE.running())
    scenario.when(MarkOnline(D2)).then(DeviceCameOnline)
    scenario.when(ONE.completes()).then(AttemptSucceeded, TWO.created())


@pytest.mark.req("OQ-04")
def test_no_device_gets_the_same_job_twice():
    scenario = given(FLEET, *farm(1), *active(), *ONE.running()).when(create(J2))
    scenario.when(ONE.completes())
    assert [made.job_id for made in told(scenario, AttemptCreated)] == [J2]


@pytest.mark.req("OQ-03")
def test_an_offer_that_waits_to_be_fetched_holds_a_slot():
    scenario = given(FLEET, *farm(3, capacity=2)).when(create(J1))
    assert [work_of(scenario, work).phase for work in (ONE, TWO)] == [Phase.OFFERED] * 2
    scenario.ticked().then_nothing()
    assert phone(scenario, D3).assignment is None


@pytest.mark.req("OQ-03")
def test_the_delay_before_a_retry_keeps_the_slot_and_the_device():
    scenario = given(FLEET, *farm(2, capacity=1), *active(), *ONE.running()).when(ONE.fails())
    scenario.then(ONE.failed(), ONE.retry(due=at(seconds=5)))
    assert pc_of(scenario).in_use == 1
    scenario.after(seconds=5).ticked().then(ONE.created(run=2))
    assert pc_of(scenario).in_use == 1


@pytest.mark.req("OQ-03")
def test_work_that_waits_for_its_device_leaves_the_slot_to_others():
    scenario = given(FLEET, *farm(2, capacity=1), *active(), *ONE.running())
    scenario.when(MarkSilent(D1))
    assert supplied(scenario) == [D2]
    scenario.when(MarkOnline(D1)).then(DeviceCameOnline)  # the one slot is taken
    begin(scenario, D2).when(work_in_hand(scenario, D2).completes())
    assert in_hand(scenario, D1).assignment_id == ONE.id


@pytest.mark.req("OQ-04")
def test_devices_that_go_on_come_before_new_ones():
    scenario = given(FLEET, *farm(2, capacity=1), registered(D3), *active(), *ONE.running())
    scenario.when(MarkSilent(D1))
    scenario.when(MarkOnline(D3)).when(MarkOnline(D1))
    begin(scenario, D2).when(work_in_hand(scenario, D2).completes())
    assert in_hand(scenario, D1).run == 2
    assert phone(scenario, D3).assignment is None


@pytest.mark.req("OQ-03")
def test_a_slot_of_a_paused_job_that_still_runs_is_taken():
    scenario = given(FLEET, *farm(2, capacity=1), *active(), *ONE.running()).when(create(J2)).when(PauseJob(J1))
    assert supplied(scenario) == []
    assert job_of(scenario, J2).status is JobStatus.ACTIVE
    scenario.when(ONE.completes())
    assert len(supplied(scenario)) == 1
    assert pc_of(scenario).in_use == 1


@pytest.mark.req("OQ-04")
def test_a_look_at_many_pcs_goes_step_by_step_and_forgets_none():
    scenario = given(FLEET, *farm(*[1] * 50)).when(create(J1)).ticked()
    assert pc_of(scenario, "pc50").in_use == 1
    assert sum(known.in_use for known in scenario.state.pcs.values()) == 50


@pytest.mark.req("OQ-04")
def test_a_pc_that_registers_while_a_job_is_active_is_supplied():
    scenario = given(FLEET, *farm(1)).when(create(J1))
    scenario.given(pc("pc2"), registered(D2, "pc2")).ticked()
    scenario.when(MarkOnline(D2))
    assert supplied(scenario) == [D2]


@pytest.mark.req("OQ-04")
def test_a_device_that_flaps_before_it_fetched_is_supplied_once_for_each_time_it_is_back():
    scenario = given(FLEET, *farm(2)).when(create(J1))
    for _ in range(3):
        scenario.when(MarkOffline(D1)).when(MarkOnline(D1))
        assert supplied(scenario) == [D1]
        assert pc_of(scenario).in_use == 2
        assert job_of(scenario).in_flight == 2


@pytest.mark.req("OQ-04")
def test_a_group_on_many_pcs_is_found_on_all_of_them():
    events = [
        event for place in range(1, 40) for event in (pc(f"pc{place}"), *online(device_id(place), f"pc{place}", G2))
    ]
    scenario = (
        given(FLEET, *events, *online(device_id(50), "pc1", G1)).when(create(target=Target(group_id=G2))).ticked()
    )
    assert job_of(scenario).in_flight == 39
    assert phone(scenario, device_id(50)).assignment is None


@pytest.mark.req("OQ-03", "OQ-04")
def test_what_still_runs_on_other_devices_does_not_keep_the_next_job_from_its_own():
    """20 slots, 2 in use on devices of another group: the two devices of this group are still two missing."""
    scenario = given(FLEET, pc(), *online(D1), *online(D2), *online(D3, group=G2), *online(D4, group=G2))
    scenario.when(create(J1, target=Target(group_id=G1)))
    begin(scenario, D1, D2).when(DeactivateJob(J1))
    scenario.when(create(J2, target=Target(group_id=G2)))
    assert sorted(supplied(scenario)) == [D3, D4]


@pytest.mark.req("DF-16", "OQ-04")
def test_an_age_restricted_job_goes_to_the_verified_device_while_others_still_run_it():
    verified = registered(D4, capabilities=["age_verified"])
    scenario = given(FLEET, *farm(3), verified, *active(), *ONE.running(), *TWO.running(), *THREE.running())
    scenario.when(ONE.fails("E2003")).when(MarkOnline(D4))
    assert supplied(scenario) == [D4]


@pytest.mark.req("DF-06")
def test_a_job_does_not_end_while_its_devices_are_only_busy_with_the_rest_of_another():
    scenario = given(FLEET, *farm(3), *active(), *ONE.running(), *TWO.running()).when(create(J2))
    scenario.when(DeactivateJob(J1))
    begin(scenario, D3).when(work_in_hand(scenario, D3).completes())
    assert told(scenario, JobCompleted) == []
    scenario.when(ONE.completes())
    assert in_hand(scenario, D1).job_id == J2


@pytest.mark.req("DF-06")
def test_a_job_does_not_end_while_one_of_its_devices_is_only_held_back():
    scenario = given(FLEET, *farm(2), *active(), *ONE.running(), *TWO.offered()).after(seconds=90).ticked()
    scenario.when(ONE.completes())
    assert told(scenario, JobCompleted) == []
    scenario.after(minutes=5).ticked()
    assert in_hand(scenario, D2).job_id == J1


@pytest.mark.req("DF-06", "OQ-02")
def test_a_job_does_not_wait_for_ever_for_a_device_that_takes_nothing():
    scenario = given(FLEET, *farm(2), *active(), *ONE.running(), *TWO.offered()).when(ONE.completes()).when(create(J2))
    began = scenario.now
    while job_of(scenario).status is JobStatus.ACTIVE:
        scenario.now = FLEET.next_deadline(scenario.state)
        scenario.ticked()
    assert scenario.now - began == timedelta(seconds=3 * 90, minutes=5 + 10)
    assert job_of(scenario, J2).status is JobStatus.ACTIVE


@pytest.mark.req("DF-06")
def test_a_job_for_a_number_of_devices_that_has_them_waits_for_nobody():
    scenario = given(FLEET, *farm(2), *active(target=Target(count=1)), *ONE.running())
    scenario.given(DeviceHeld(D2, at(minutes=5), 1)).when(ONE.completes())
    scenario.then(AttemptSucceeded, JobCompleted(J1, completed=1, failed=0, skipped=0))


@pytest.mark.req("DF-06", "OQ-02")
def test_a_job_that_ran_nowhere_does_not_wait_for_busy_devices_but_lets_others_go_first():
    scenario = given(FLEET, *farm(1), *online(D2, group=G2), *active(target=Target(group_id=G1)), *ONE.running())
    scenario.when(DeactivateJob(J1)).when(create(J2, target=Target(group_id=G1)))
    third = "11111111-0000-7000-8000-000000000003"
    scenario.when(create(third, target=Target(group_id=G2)))
    assert job_of(scenario, third).status is JobStatus.ACTIVE
    assert job_of(scenario, J2).status is JobStatus.CREATED


@pytest.mark.req("DF-06")
def test_a_job_waits_for_the_devices_of_a_pc_that_is_held_back():
    scenario = given(FLEET, *farm(1, 1), *active(pcs=2), *ONE.running(), PcHeld("pc2", at(minutes=10)))
    scenario.when(ONE.completes()).then(AttemptSucceeded)
    scenario.after(minutes=10).ticked()
    assert in_hand(scenario, D2).job_id == J1


@pytest.mark.req("DF-06", "OQ-03")
def test_a_job_does_not_end_while_one_of_its_devices_waits_for_a_slot():
    """The only slot of pc1 is still in use for a job that has ended."""
    named, other = Work(D1, J2, id=posted_id(1)), Work(D3, J2, number=2)
    scenario = given(FLEET, *farm(2, 1, capacity=1), *active(pcs=2), *TWO.running(), JobDeactivated(J1, None))
    scenario.given(
        *active(J2, Target(device_ids=(D1, D3)), pcs=2), named.requested(), *Work(D3, J2, number=2).running()
    )
    scenario.when(other.completes()).then(AttemptSucceeded)
    scenario.when(TWO.completes()).then(AttemptSucceeded, named.created())


@pytest.mark.req("DF-06")
def test_a_retry_that_waits_for_a_device_in_error_does_not_hold_up_the_end_of_its_job():
    """Nobody knows when the phone will be unlocked, and every other job would wait for it."""
    scenario = given(FLEET, *farm(2), *active(), *ONE.running(), *TWO.running())
    scenario.when(ONE.fails("E3003")).when(TWO.completes())
    assert told(scenario, JobCompleted)
    assert [gone.assignment_id for gone in told(scenario, AssignmentCancelled)] == [ONE.id]
