"""Where all phones of a PC fail it is the PC: it is held back with an alert, and its phones are not to blame."""

from datetime import timedelta

import pytest

from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import (
    MarkOnline,
    MarkSilent,
)
from drover.domain.fleet.events import (
    AlertRaised,
    AlertResolved,
    AttemptCreated,
    AttemptFailed,
    DeviceQuarantined,
    DeviceReleased,
    JobDeactivated,
    JobPaused,
    PcHeld,
    PcHoldEnded,
    RetryScheduled,
)
from drover.domain.fleet.state import DeviceStatus, JobStatus, Phase
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import (
    D1,
    D2,
    D3,
    D4,
    FIVE_WORKS,
    J1,
    J2,
    Work,
    active,
    at,
    begin,
    create,
    farm,
    in_hand,
    job_id,
    job_of,
    last_attempts,
    pc_of,
    phone,
    registered,
    told,
    work_in_hand,
)

ONE, TWO, THREE, FOUR, FIVE = FIVE_WORKS


DIFFERENT = ((ONE, "E1002"), (TWO, "E1001"), (THREE, "E2004"))


def bad_pc(*, minutes=0, others=1):
    """Its three phones fail for good, each in its own way, so that the job is not to blame."""
    scenario = last_attempts(3, others=others)
    for work, code in DIFFERENT:
        scenario.when(work.fails(code, 3)).after(minutes=minutes)
    return scenario.after(minutes=-minutes)


@pytest.mark.req("OQ-08")
def test_all_devices_of_a_pc_failing_is_a_host_alert_instead_of_bad_phones():
    scenario = bad_pc(minutes=5).then(
        THREE.failed("E2004", 3),
        THREE.final("E2004", 3),
        PcHeld("pc1", at(minutes=20)),
        DeviceReleased(D1, "host"),
        DeviceReleased(D2, "host"),
        DeviceReleased(D3, "host"),
        AlertRaised,
    )
    (alert,) = told(scenario, AlertRaised)
    assert (alert.kind, alert.subject, alert.details) == ("host_failing", "pc1", {"devices": [D1, D2, D3]})
    assert {phone(scenario, device).status for device in (D1, D2, D3)} == {DeviceStatus.ONLINE}


def test_failures_that_are_further_apart_than_ten_minutes_are_those_of_phones():
    scenario = bad_pc(minutes=6)
    assert told(scenario, PcHeld) == []
    assert {phone(scenario, device).status for device in (D1, D2, D3)} == {DeviceStatus.ERROR}


def test_one_phone_that_works_speaks_for_its_pc():
    scenario = last_attempts(3).given(registered(D4)).when(MarkOnline(D4))
    for work, code in DIFFERENT:
        scenario.when(work.fails(code, 3))
    assert told(scenario, PcHeld) == []
    assert len(told(scenario, DeviceQuarantined)) == 1


def test_two_phones_say_nothing_about_their_pc():
    scenario = last_attempts(2, others=1)
    scenario.when(ONE.fails("E1002", 3)).when(TWO.fails("E1001", 3))
    assert told(scenario, PcHeld) == []
    assert len(told(scenario, DeviceQuarantined)) == 1


def test_phones_that_are_away_do_not_speak_for_their_pc():
    scenario = last_attempts(3, others=1).given(registered(device := "00000000-0000-7000-8000-000000000077"))
    for work, code in DIFFERENT:
        scenario.when(work.fails(code, 3))
    assert len(told(scenario, PcHeld)) == 1
    scenario.when(MarkOnline(device))
    assert told(scenario, AttemptCreated) == []  # nobody on it gets work for a while


def test_a_held_pc_gets_no_work_until_its_time_is_over():
    scenario = bad_pc(others=1).when(create(J2))
    scenario.when(FOUR.completes())
    assert [made.device_id for made in told(scenario, AttemptCreated)] == [D4]
    scenario.when(work_in_hand(scenario, D4).fetch()).when(work_in_hand(scenario, D4).runs())
    scenario.after(minutes=10, seconds=-1).ticked().then_nothing()
    scenario.after(seconds=1).ticked()
    assert type(scenario.decision.events[0]) is PcHoldEnded
    assert {made.device_id for made in told(scenario, AttemptCreated)} == {D1, D2, D3}
    (resolved,) = told(scenario, AlertResolved)
    assert (resolved.kind, resolved.subject) == ("host_failing", "pc1")
    assert scenario.state.alerts == {}


def test_the_first_phones_of_a_bad_pc_begin_a_new_row_of_failures():
    scenario = bad_pc()
    assert [phone(scenario, device).failures for device in (D1, D2)] == [0, 0]


def test_the_last_phone_of_a_bad_pc_is_not_to_blame_either():
    scenario = bad_pc(others=0).when(create(J2)).after(minutes=10).ticked()
    begin(scenario, D3).when(work_in_hand(scenario, D3).fails())
    assert told(scenario, DeviceQuarantined) == []


@pytest.mark.req("DF-22")
def test_a_phone_with_an_empty_battery_is_in_error_whatever_its_pc_does():
    scenario = last_attempts(3, others=1).when(ONE.fails("E1002", 3)).when(TWO.fails("E1001", 3))
    scenario.when(THREE.fails("E3004", 3))
    assert phone(scenario, D3).status is DeviceStatus.ERROR
    assert phone(scenario, D3).error.condition == "battery_low"


def test_a_retry_on_a_held_pc_waits_until_it_is_tried_again():
    """The last phone's third failure in a row, but only the first attempt of this job: it has two left."""
    before = Work(D3, J2, pc="pc1")
    scenario = given(FLEET, *farm(3, 1), *active(J2, pcs=2), *before.running(3))
    scenario.given(before.failed("E2001", 3, blamed=False), before.final("E2001", 3), JobDeactivated(J2, None))
    scenario.given(*active(J1, pcs=2), *ONE.running(3), *TWO.running(3), *THREE.running(), *FOUR.running())
    scenario.when(ONE.fails("E1002", 3)).when(TWO.fails("E1001", 3))
    scenario.when(THREE.fails("E2004"))
    assert [type(event) for event in scenario.decision.events[:3]] == [AttemptFailed, RetryScheduled, PcHeld]
    assert told(scenario, RetryScheduled)[0].due is None
    scenario.after(minutes=10).ticked()
    assert in_hand(scenario, D3).assignment_id == THREE.id
    assert in_hand(scenario, D3).attempt == 2


@pytest.mark.req("DF-05")
def test_a_pc_whose_phones_all_lose_their_power_loses_no_slot_and_goes_on_when_they_are_back():
    devices = [f"00000000-0000-7000-8000-{number:012d}" for number in range(1, 21)]
    scenario = begin(given(FLEET, *farm(20, 1)).when(create(J1)), *devices)
    for device in devices:
        scenario.when(MarkSilent(device))
    assert pc_of(scenario).in_use == 0
    assert job_of(scenario).status is JobStatus.ACTIVE
    for device in devices:
        scenario.when(MarkOnline(device))
    assert pc_of(scenario).in_use == 20
    for device in devices:
        begin(scenario, device).when(work_in_hand(scenario, device).completes(2))
    assert job_of(scenario).completed == 20


def test_one_bad_pc_does_not_pause_the_jobs_of_the_whole_farm():
    """All phones of pc1 have lost the internet; pc2 works. Three of pc1 cannot speak against a job that runs there."""
    scenario = given(FLEET, *farm(4, 4))
    for number in (1, 2, 3):
        scenario.when(create(job_id(number)))
    for _ in range(200):
        hands = [device for device, known in scenario.state.devices.items() if known.assignment]
        for device in hands:
            if in_hand(scenario, device).phase is Phase.OFFERED:
                begin(scenario, device)
            work, run = work_in_hand(scenario, device), in_hand(scenario, device).run
            if phone(scenario, device).running:
                scenario.when(
                    work.fails("E2004", run) if phone(scenario, device).pc_id == "pc1" else work.completes(run)
                )
        scenario.after(seconds=10).ticked()
    assert [job.status for job in scenario.state.jobs.values()] == [JobStatus.COMPLETED] * 3


def test_one_bad_pc_does_not_pause_the_jobs_of_the_whole_farm_where_success_takes_its_time():
    """On pc1 every attempt fails after ten seconds; on pc2 every one succeeds, after three minutes."""
    takes_s = {"pc1": 10, "pc2": 180}
    scenario = given(FLEET, *farm(4, 4))
    for number in (1, 2, 3):
        scenario.when(create(job_id(number)))
    for _ in range(180):
        for device in [device for device, known in scenario.state.devices.items() if known.assignment]:
            assignment, pc = in_hand(scenario, device), phone(scenario, device).pc_id
            if assignment.phase is Phase.OFFERED:
                begin(scenario, device)
            elif assignment.started_at and scenario.now - assignment.started_at >= timedelta(seconds=takes_s[pc]):
                work, run = work_in_hand(scenario, device), assignment.run
                scenario.when(work.fails("E2004", run) if pc == "pc1" else work.completes(run))
        scenario.after(seconds=10).ticked()
    assert not [alert for alert in scenario.state.alerts if alert.startswith("poison_job")]
    assert [job.completed for job in scenario.state.jobs.values()] == [4, 4, 4]


def test_a_bad_pc_speaks_against_itself_where_the_job_works_on_another():
    scenario = last_attempts(4, others=1).when(FIVE.completes())
    for work in (ONE, TWO, THREE):
        scenario.when(work.fails(run=3))
        assert told(scenario, JobPaused) == []
    scenario.when(FOUR.fails(run=3))
    assert len(told(scenario, PcHeld)) == 1
