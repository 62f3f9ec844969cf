"""Three devices that fail for good in the same way speak against the job: it is paused, and they are not to blame."""

from datetime import timedelta

import pytest

from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import (
    AssignJob,
    CancelJob,
    MarkOnline,
    PauseJob,
    ResetDevice,
    ResumeJob,
)
from drover.domain.fleet.events import (
    AlertRaised,
    AlertResolved,
    AttemptFailed,
    AttemptFailedFinal,
    DeviceQuarantined,
    DeviceReleased,
    JobCompleted,
    JobExpired,
    JobPaused,
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
    job_of,
    last_attempts,
    phone,
    posted_id,
    told,
    work_in_hand,
    work_of,
)

ONE, TWO, THREE, FOUR, FIVE = FIVE_WORKS


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
    scenario = given(FLEET, *farm(4), *active(), *(event for work in FIVE_WORKS[:4] for event in work.running()))
    for work in (ONE, TWO, THREE):
        scenario.when(work.fails("E2003"))
        assert told(scenario, JobPaused) == []
    assert job_of(scenario).status is JobStatus.ACTIVE


def test_a_device_that_was_asked_again_and_failed_again_does_not_count_twice():
    scenario = given(FLEET, *farm(1, 1, 1), *active(pcs=3), *Work(D3, number=3, pc="pc3").running())
    for work in (ONE, TWO):
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


def test_the_alert_is_over_when_a_phone_that_still_ran_it_finds_the_video_gone():
    scenario = poisoned().when(FOUR.fails("VIDEO_UNAVAILABLE", farm_is_open=True))
    assert job_of(scenario).status is JobStatus.DEACTIVATED
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


def test_a_bad_pc_that_is_the_only_one_at_work_speaks_against_the_job():
    """Nothing says that it works anywhere."""
    scenario = last_attempts(4)
    for work in (ONE, TWO, THREE):
        scenario.when(work.fails(run=3))
    assert len(told(scenario, JobPaused)) == 1


def test_three_devices_of_which_one_is_on_another_pc_speak_against_the_job_wherever_it_worked():
    scenario = given(FLEET, *farm(2, 1, 1), *active(pcs=3))
    for work in (ONE, TWO, THREE, FOUR):
        scenario.given(*work.running(1 if work is FOUR else 3))
    scenario.when(FOUR.completes())
    for work in (ONE, TWO, THREE):
        scenario.when(work.fails(run=3))
    assert len(told(scenario, JobPaused)) == 1


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
    assert finals == 6, "the five of the first PC, which might have been its own fault, and one of another"
    assert job_of(scenario).status is JobStatus.PAUSED
    assert not [d for d in scenario.state.devices.values() if d.status is DeviceStatus.ERROR]
    assert told(scenario, JobCompleted) == []
    assert sum(known.in_use for known in scenario.state.pcs.values()) == 0
    assert scenario.now - at() < timedelta(minutes=10)
