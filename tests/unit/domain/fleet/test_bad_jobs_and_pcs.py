"""Three devices that fail in the same way speak against the job; all devices of a PC that fail speak against the PC."""

from datetime import timedelta

import pytest

from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import (
    AssignJob,
    CancelJob,
    MarkOnline,
    MarkSilent,
    PauseJob,
    ResetDevice,
    ResumeJob,
)
from drover.domain.fleet.events import (
    AlertRaised,
    AlertResolved,
    AttemptCreated,
    AttemptFailed,
    AttemptFailedFinal,
    DeviceQuarantined,
    DeviceReleased,
    JobCompleted,
    JobDeactivated,
    JobExpired,
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
    D5,
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
    pc_of,
    phone,
    posted_id,
    registered,
    told,
    work_in_hand,
    work_of,
)

WORKS = [Work(device, number=number) for number, device in enumerate((D1, D2, D3, D4, D5), 1)]
ONE, TWO, THREE, FOUR, FIVE = WORKS


def last_attempts(phones, *, pcs=1, others=0):
    """So many phones, on one PC or on one each, at their third attempt; others, on further PCs, at their first."""
    sizes = [phones] if pcs == 1 else [1] * pcs
    scenario = given(FLEET, *farm(*sizes, *([1] * others)), *active(pcs=pcs + others))
    for number, work in enumerate(WORKS[: phones + others], 1):
        work.pc = scenario.state.devices[work.device].pc_id
        scenario.given(*work.running(3 if number <= phones else 1))
    return scenario


# A bad job


@pytest.mark.req("OQ-08", "DF-22")
def test_a_job_that_fails_finally_on_three_devices_with_the_same_code_is_paused_with_an_alert():
    scenario = last_attempts(4, pcs=4)
    for work in (ONE, TWO):
        scenario.when(work.fails(run=3)).then(AttemptFailed, AttemptFailedFinal, DeviceQuarantined)
    scenario.when(THREE.fails(run=3)).then(
        THREE.failed(run=3),
        THREE.final("E1002", 3),
        JobPaused(J1, "poison", "REQUEST_TIMEOUT"),
        DeviceReleased(D1, "poison_job"),
        DeviceReleased(D2, "poison_job"),
        DeviceReleased(D3, "poison_job"),
        AlertRaised,
    )
    (alert,) = told(scenario, AlertRaised)
    assert (alert.kind, alert.subject) == ("poison_job", J1)
    assert alert.details == {"rule": "REQUEST_TIMEOUT", "devices": [D1, D2, D3]}
    assert job_of(scenario).status is JobStatus.PAUSED
    assert {phone(scenario, device).status for device in (D1, D2, D3)} == {DeviceStatus.ONLINE}


def test_names_and_codes_of_the_same_failure_count_together():
    scenario = last_attempts(3, pcs=3)
    for work, code in ((ONE, "E1002"), (TWO, "REQUEST_TIMEOUT"), (THREE, "E1002")):
        scenario.when(work.fails(code, 3))
    assert len(told(scenario, JobPaused)) == 1


def test_three_devices_that_fail_in_different_ways_say_nothing_about_the_job():
    scenario = last_attempts(3, pcs=3, others=1)
    for work, code in ((ONE, "E1002"), (TWO, "E1001"), (THREE, "E2004")):
        scenario.when(work.fails(code, 3))
        assert told(scenario, JobPaused) == []
    assert {phone(scenario, device).status for device in (D1, D2, D3)} == {DeviceStatus.ERROR}


def test_failures_that_are_retried_do_not_count_against_the_job():
    scenario = given(FLEET, *farm(3), *active(), *ONE.running(), *TWO.running(), *THREE.running())
    for work in (ONE, TWO, THREE):
        scenario.when(work.fails()).then(AttemptFailed, RetryScheduled)


@pytest.mark.req("DF-16")
def test_age_restriction_never_counts_against_the_job():
    scenario = given(FLEET, *farm(4), *active(), *(event for work in WORKS[:4] for event in work.running()))
    for work in (ONE, TWO, THREE):
        scenario.when(work.fails("E2003"))
        assert told(scenario, JobPaused) == []
    assert job_of(scenario).status is JobStatus.ACTIVE


def test_a_device_that_was_asked_again_and_failed_again_does_not_count_twice():
    scenario = given(FLEET, *farm(1, 1, 1), *active(pcs=3), *Work(D3, number=3, pc="pc3").running())
    for work, pc in ((ONE, "pc1"), (TWO, "pc2")):
        work.pc = pc
        scenario.given(*work.running(2, after="E4001")).when(work.fails("E4001", 2))
    scenario.when(ResetDevice(D1)).when(MarkOnline(D1)).when(AssignJob(posted_id(1), J1, D1))
    begin(scenario, D1).when(ONE.fails("E4001", 3))
    assert len(told(scenario, AttemptFailedFinal)) == 1
    assert told(scenario, JobPaused) == []


def test_a_poisoned_job_takes_back_what_is_pending_and_lets_run_what_runs():
    scenario = last_attempts(3, pcs=3, others=2)
    scenario.when(FOUR.fails())  # waits for its retry
    for work in (ONE, TWO, THREE):
        scenario.when(work.fails(run=3))
    assert work_of(scenario, FOUR).phase is Phase.WAITING
    assert work_of(scenario, FIVE).phase is Phase.RUNNING


def poisoned(others=2):
    scenario = last_attempts(3, pcs=3, others=others)
    for work in (ONE, TWO, THREE):
        scenario.when(work.fails(run=3))
    return scenario


def test_its_code_has_no_further_effect_on_devices():
    scenario = poisoned()
    for run in (1, 2, 3):
        scenario.when(FOUR.fails(run=run))
        (failed,) = told(scenario, AttemptFailed)
        assert failed.blamed is False
        assert told(scenario, DeviceQuarantined) == []
        if run < 3:
            scenario.when(ResumeJob(J1)) if run == 1 else scenario.after(seconds=5).ticked()
            begin(scenario, D4)
    assert phone(scenario, D4).status is DeviceStatus.ONLINE
    assert phone(scenario, D4).failures == 0


def test_another_code_still_has_its_effect():
    scenario = poisoned().when(ResumeJob(J1))
    scenario.when(FOUR.fails("E3002"))
    assert len(told(scenario, DeviceQuarantined)) == 1


def test_the_first_two_begin_a_new_row_of_failures():
    scenario = poisoned()
    assert [phone(scenario, device).failures for device in (D1, D2)] == [0, 0]


def test_the_third_device_begins_a_new_row_of_failures_too():
    scenario = poisoned(others=0).when(create(J2))
    begin(scenario, D3).when(work_in_hand(scenario, D3).fails())
    assert told(scenario, DeviceQuarantined) == []


def test_a_device_that_is_in_error_for_another_reason_stays_there():
    scenario = last_attempts(3, pcs=3, others=1)
    scenario.when(ONE.fails(run=3)).when(TWO.fails(run=3))
    scenario.given(DeviceReleased(D1, "time"), DeviceQuarantined(D1, "APP_CRASH", at(minutes=30), None, J2))
    scenario.when(THREE.fails(run=3))
    assert [released.device_id for released in told(scenario, DeviceReleased)] == [D2, D3]


@pytest.mark.parametrize("ending", [ResumeJob(J1), CancelJob(J1)])
def test_the_alert_is_over_when_a_person_has_dealt_with_the_job(ending):
    scenario = poisoned().when(ending)
    (resolved,) = told(scenario, AlertResolved)
    assert (resolved.kind, resolved.subject) == ("poison_job", J1)
    assert scenario.state.alerts == {}


def test_the_alert_is_over_when_the_job_expires():
    scenario = poisoned(others=0).after(hours=24).ticked().then(JobExpired(J1), AlertResolved)
    assert scenario.state.alerts == {}


def test_a_job_that_somebody_paused_before_is_reported_all_the_same():
    scenario = last_attempts(3, pcs=3).when(PauseJob(J1))
    scenario.when(ONE.fails(run=3)).when(TWO.fails(run=3)).when(THREE.fails(run=3))
    assert told(scenario, JobPaused) == []
    assert len(told(scenario, AlertRaised)) == 1
    assert {phone(scenario, device).status for device in (D1, D2, D3)} == {DeviceStatus.ONLINE}


def test_a_poisoned_job_that_is_resumed_comes_to_its_end():
    scenario = poisoned(others=0).when(ResumeJob(J1)).ticked()
    assert job_of(scenario).status is JobStatus.COMPLETED
    assert job_of(scenario).failed == 3


# A bad PC


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


def test_a_job_that_fails_everywhere_is_paused_before_it_has_cost_every_phone_three_attempts():
    scenario = given(FLEET, *farm(*[5] * 4)).when(create(J1))
    finals = 0
    for _ in range(40):
        for device in list(scenario.state.devices):
            if (assignment := phone(scenario, device).assignment) is None:
                continue
            if scenario.state.assignments[assignment].phase is Phase.OFFERED:
                begin(scenario, device)
                scenario.when(work_in_hand(scenario, device).fails("E2004", in_hand(scenario, device).run))
                finals += len(told(scenario, AttemptFailedFinal))
        scenario.after(seconds=10).ticked()
    assert finals == 3
    assert job_of(scenario).status is JobStatus.PAUSED
    assert not [d for d in scenario.state.devices.values() if d.status is DeviceStatus.ERROR]
    assert told(scenario, JobCompleted) == []
    assert sum(known.in_use for known in scenario.state.pcs.values()) == 0
    assert scenario.now - at() < timedelta(minutes=10)
