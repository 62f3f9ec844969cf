"""Pause, resume, deactivate, cancel, expire, archive: what happens to the job and to what it has pending or running."""

import pytest

from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import (
    AssignJob,
    CancelAssignment,
    CancelJob,
    DeactivateJob,
    MarkOnline,
    PauseJob,
    ResumeJob,
)
from drover.domain.fleet.events import (
    AttemptCreated,
    AttemptSucceeded,
    DeviceQuarantined,
    JobActivated,
    JobArchived,
    JobCancelled,
    JobCompleted,
    JobDeactivated,
    JobExpired,
    JobPaused,
    JobResumed,
    SupplyAdvanced,
    Target,
)
from drover.domain.fleet.state import AssignmentStatus, JobStatus, Phase
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import (
    D1,
    D2,
    D3,
    D4,
    J1,
    J2,
    Work,
    active,
    at,
    begin,
    create,
    created,
    farm,
    in_hand,
    job_id,
    job_of,
    pc_of,
    posted_id,
    registered,
    told,
    work_in_hand,
    work_of,
)

OFFERED, SENT, RETRYING, RUNNING = Work(D1), Work(D2, number=2), Work(D3, number=3), Work(D4, number=4)


def in_every_phase():
    return given(
        FLEET,
        *farm(4),
        *active(),
        *OFFERED.offered(),
        *SENT.sent(),
        *RETRYING.running(),
        RETRYING.failed(),
        RETRYING.retry(due=at(seconds=5)),
        *RUNNING.running(),
    )


ENDINGS = [
    (DeactivateJob(J1), JobDeactivated, JobStatus.DEACTIVATED),
    (CancelJob(J1), JobCancelled, JobStatus.CANCELLED),
]


def taken_back(scenario):
    """What the latest decision took back, in whatever order."""
    return {(type(event).__name__, event.device_id, event.reason) for event in scenario.decision.events[1:]}


@pytest.mark.req("DF-05", "DF-06")
@pytest.mark.parametrize(("command", "event", "status"), ENDINGS, ids=["deactivated", "cancelled"])
def test_ending_a_job_cancels_what_is_pending_and_lets_run_what_runs(command, event, status):
    scenario = in_every_phase().when(command)
    assert type(scenario.decision.events[0]) is event
    assert taken_back(scenario) == {
        ("AttemptCancelled", D1, status),
        ("AssignmentCancelled", D1, status),
        ("AttemptCancelled", D2, status),
        ("AssignmentCancelled", D2, status),
        ("AssignmentCancelled", D3, status),  # its attempt had ended already
    }
    assert job_of(scenario).status is status
    assert work_of(scenario, RUNNING).phase is Phase.RUNNING
    assert pc_of(scenario).in_use == 1
    scenario.when(RUNNING.completes()).then(AttemptSucceeded)


@pytest.mark.req("DF-06")
def test_a_pause_takes_back_what_is_pending_and_lets_run_what_runs():
    scenario = in_every_phase().when(PauseJob(J1))
    assert type(scenario.decision.events[0]) is JobPaused
    assert taken_back(scenario) == {
        ("AttemptCancelled", D1, "paused"),
        ("AssignmentCancelled", D1, "paused"),
        ("AttemptCancelled", D2, "paused"),
        ("AssignmentCancelled", D2, "paused"),
        ("AssignmentParked", D3, "paused"),  # an attempt of it is used up: it waits
    }
    assert job_of(scenario).status is JobStatus.PAUSED
    assert pc_of(scenario).in_use == 1
    scenario.when(RUNNING.completes()).then(AttemptSucceeded)


@pytest.mark.req("DF-06")
def test_a_paused_job_supplies_nothing_until_it_is_resumed():
    scenario = in_every_phase().when(PauseJob(J1)).after(minutes=10).ticked().then_nothing()
    scenario.when(ResumeJob(J1))
    assert {made.device_id for made in told(scenario, AttemptCreated)} == {D1, D2, D3}


@pytest.mark.req("DF-06")
def test_a_resumed_job_goes_on_with_the_attempts_that_are_left():
    scenario = in_every_phase().when(PauseJob(J1)).when(ResumeJob(J1))
    assert in_hand(scenario, D3).assignment_id == RETRYING.id
    assert (in_hand(scenario, D3).run, in_hand(scenario, D3).attempt) == (2, 2)
    assert in_hand(scenario, D1).attempt == 1


@pytest.mark.req("DF-06")
def test_after_a_pause_and_a_resume_every_device_has_run_once_and_the_job_ends():
    scenario = in_every_phase().when(PauseJob(J1)).when(ResumeJob(J1)).when(RUNNING.completes())
    begin(scenario, D1, D2, D3)
    for device in (D1, D2, D3):
        scenario.when(work_in_hand(scenario, device).completes(in_hand(scenario, device).run))
    scenario.then(AttemptSucceeded, JobCompleted(J1, completed=4, failed=0, skipped=0))
    assert pc_of(scenario).in_use == 0


@pytest.mark.req("DF-06")
def test_a_pause_leaves_the_queue_too():
    scenario = given(FLEET, *farm(0), created(J1)).when(PauseJob(J1)).then(JobPaused)
    scenario.when(PauseJob(J1)).then_nothing()
    scenario.when(ResumeJob(J1)).then(JobResumed)
    scenario.when(ResumeJob(J1)).then_nothing()


@pytest.mark.req("DF-02", "DF-06")
def test_a_job_that_was_created_inactive_has_its_turn_when_it_is_resumed():
    scenario = given(FLEET, *farm(1), created(is_active=False))
    scenario.when(ResumeJob(J1)).then(JobResumed(J1), JobActivated(J1), SupplyAdvanced, AttemptCreated)


@pytest.mark.req("DF-06")
def test_a_failure_of_what_still_runs_waits_while_its_job_is_paused():
    scenario = in_every_phase().when(PauseJob(J1)).when(RUNNING.fails())
    scenario.then(RUNNING.failed(), RUNNING.retry(due=None))
    scenario.when(ResumeJob(J1))
    assert in_hand(scenario, D4).run == 2


@pytest.mark.req("DF-06")
def test_a_failure_of_what_still_runs_is_final_when_its_job_has_ended():
    scenario = in_every_phase().when(DeactivateJob(J1))
    scenario.when(RUNNING.fails()).then(RUNNING.failed(), RUNNING.final("E1002"))


@pytest.mark.req("DF-05", "DF-08")
def test_what_waits_by_name_is_cancelled_with_its_job():
    scenario = given(FLEET, *farm(1), registered(D2), *active(), *OFFERED.running())
    scenario.when(AssignJob(posted_id(1), J1, D2))
    waiting = Work(D2, id=posted_id(1))
    scenario.when(CancelJob(J1)).then(JobCancelled(J1), waiting.cancelled("cancelled"))


@pytest.mark.req("DF-06")
@pytest.mark.parametrize("events", [[], [JobPaused(J1, "admin", None)]], ids=["waiting", "paused"])
def test_a_job_expires_24_hours_after_its_creation(events):
    scenario = given(FLEET, created(), *events).after(hours=24, seconds=-1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(JobExpired(J1))


@pytest.mark.req("DF-06")
def test_an_expired_job_counts_the_phones_that_it_did_not_reach():
    scenario = active_for_24_hours().given(registered(D2)).after(minutes=1).ticked()
    scenario.then(JobExpired(J1, skipped=1), OFFERED.withdrawn("expired"), OFFERED.cancelled("expired"))


@pytest.mark.req("DF-06")
@pytest.mark.parametrize(
    ("target", "skipped"),
    [(None, 2), (Target(count=2), 1), (Target(count=1), 0), (Target(device_ids=(D1, D2)), 1)],
    ids=["everybody", "two of three", "one of three", "by name"],
)
def test_what_a_cancelled_job_did_not_reach_depends_on_its_target(target, skipped):
    phones = (registered(D1), registered(D2), registered(D3))
    scenario = given(FLEET, *farm(0), *phones, created(target=target)).when(MarkOnline(D1))
    scenario.when(CancelJob(J1)).then(
        JobCancelled(J1, skipped), OFFERED.withdrawn("cancelled"), OFFERED.cancelled("cancelled")
    )


def active_for_24_hours():
    """It waited for a day, and its one device has just been offered it."""
    scenario = given(FLEET, *farm(0), registered(D1), created()).after(hours=23, minutes=59).when(MarkOnline(D1))
    assert in_hand(scenario, D1).assignment_id == OFFERED.id
    return scenario


@pytest.mark.req("DF-05", "DF-06")
def test_expiry_cancels_what_is_pending():
    scenario = active_for_24_hours().after(minutes=1).ticked()
    scenario.then(JobExpired(J1), OFFERED.withdrawn("expired"), OFFERED.cancelled("expired"))


@pytest.mark.req("DF-06")
def test_what_runs_when_its_job_expires_may_end():
    scenario = begin(active_for_24_hours(), D1).after(minutes=1).ticked().then(JobExpired(J1))
    scenario.when(OFFERED.completes()).then(AttemptSucceeded)


@pytest.mark.req("DF-06")
def test_a_job_is_completed_when_every_assignment_has_ended():
    first, second = Work(D1), Work(D2, number=2)
    scenario = given(FLEET, *farm(2), registered(D3), *active(), *first.running(), *second.running(3))
    scenario.when(first.completes()).then(AttemptSucceeded)
    assert job_of(scenario).status is JobStatus.ACTIVE
    scenario.when(second.fails(run=3)).then(
        second.failed(run=3),
        second.final("E1002", 3),
        DeviceQuarantined,
        JobCompleted(J1, completed=1, failed=1, skipped=1),  # the third device was never there
    )


@pytest.mark.req("DF-06")
def test_a_job_in_its_retry_delay_is_not_over():
    work = Work()
    scenario = given(FLEET, *farm(1), *active(), *work.running()).when(work.fails())
    assert job_of(scenario).status is JobStatus.ACTIVE
    scenario.after(seconds=5).ticked().then(work.created(run=2))


@pytest.mark.parametrize("command", [PauseJob, ResumeJob, DeactivateJob, CancelJob])
def test_an_unknown_job_can_neither_be_paused_nor_ended(command):
    given(FLEET).when(command(J1)).then_rejected(Code.NOT_FOUND, job_id=J1)


@pytest.mark.parametrize("command", [PauseJob, ResumeJob, DeactivateJob, CancelJob])
def test_an_ended_job_stays_ended(command):
    given(FLEET, created(), JobExpired(J1)).when(command(J1)).then_rejected(Code.CONFLICT, status="expired")


@pytest.mark.parametrize(("command", "event", "status"), ENDINGS, ids=["deactivated", "cancelled"])
def test_ending_it_again_in_the_same_way_changes_nothing(command, event, status):
    scenario = given(FLEET, created()).when(command).then(event).when(command).then_nothing()
    assert job_of(scenario).status is status


def test_reports_about_an_archived_job_are_of_something_unknown():
    work = Work()
    scenario = given(FLEET, *farm(1), *active(), *work.running(), work.succeeded(), JobCompleted(J1, 1, 0, 0))
    scenario.when(work.completes()).then_rejected(Code.CONFLICT)
    scenario.after(hours=24).ticked().then(JobArchived(J1))
    scenario.when(work.completes()).then_rejected(Code.NOT_FOUND)
    assert not scenario.state.ended
    assert not scenario.state.assignments


def test_a_job_whose_last_run_outlives_it_is_archived_with_nothing_left_behind():
    scenario = in_every_phase().when(CancelJob(J1)).after(minutes=20).ticked().after(hours=24).ticked()
    assert scenario.state.jobs == {}
    assert scenario.state.assignments == {}
    assert scenario.state.ended == {}
    assert scenario.state.timers.due.keys() == set()


# Single assignments


@pytest.mark.req("DF-05")
@pytest.mark.parametrize("work", [OFFERED, SENT], ids=["offered", "sent"])
def test_a_person_cancels_what_is_pending(work):
    scenario = in_every_phase().when(CancelAssignment(work.id)).then(work.withdrawn("admin"), work.cancelled("admin"))
    assert scenario.state.ended[work.id].status is AssignmentStatus.CANCELLED
    scenario.when(CancelAssignment(work.id)).then_nothing()


@pytest.mark.req("DF-05")
def test_a_person_cancels_a_retry():
    scenario = in_every_phase().when(CancelAssignment(RETRYING.id)).then(RETRYING.cancelled("admin"))
    scenario.after(minutes=1).ticked()
    assert [made for made in told(scenario, AttemptCreated) if made.assignment_id == RETRYING.id] == []


@pytest.mark.req("DF-05")
def test_what_a_person_cancelled_does_not_come_back_to_the_device_by_itself():
    scenario = in_every_phase().when(CancelAssignment(OFFERED.id)).when(PauseJob(J1)).when(ResumeJob(J1))
    assert scenario.state.devices[D1].assignment is None


def test_what_runs_cannot_be_cancelled():
    in_every_phase().when(CancelAssignment(RUNNING.id)).then_rejected(Code.CONFLICT, status="running")


def test_what_has_ended_cannot_be_cancelled():
    scenario = in_every_phase().when(RUNNING.completes())
    scenario.when(CancelAssignment(RUNNING.id)).then_rejected(Code.CONFLICT, status="completed")


def test_an_unknown_assignment_cannot_be_cancelled():
    given(FLEET).when(CancelAssignment(posted_id(1))).then_rejected(Code.NOT_FOUND)


def test_a_job_for_a_number_of_devices_counts_anew_after_a_pause():
    scenario = given(FLEET, *farm(3)).when(create(target=Target(count=2)))
    assert len(told(scenario, AttemptCreated)) == 2
    scenario.when(PauseJob(J1)).when(ResumeJob(J1))
    assert len(told(scenario, AttemptCreated)) == 2
    assert job_of(scenario).counted == 2


@pytest.mark.req("DF-06")
def test_a_job_whose_number_of_devices_finished_during_its_pause_ends_when_it_is_resumed():
    scenario = given(FLEET, *farm(3)).when(create(target=Target(count=2)))
    begin(scenario, D1, D2)
    scenario.when(PauseJob(J1))
    for device in (D1, D2):
        scenario.when(work_in_hand(scenario, device).completes())
    scenario.when(ResumeJob(J1)).then(JobResumed, JobActivated, SupplyAdvanced, JobCompleted(J1, 2, 0, skipped=0))


@pytest.mark.req("DF-06")
def test_a_job_with_its_number_of_devices_waits_for_those_that_still_run():
    scenario = given(FLEET, *farm(3)).when(create(target=Target(count=2)))
    begin(scenario, D1, D2)
    scenario.when(PauseJob(J1)).when(work_in_hand(scenario, D1).completes())
    scenario.when(ResumeJob(J1)).then(JobResumed)
    scenario.when(work_in_hand(scenario, D2).completes())
    scenario.then(AttemptSucceeded, JobActivated, SupplyAdvanced, JobCompleted(J1, 2, 0, skipped=0))


def test_a_cancelled_job_leaves_its_slots_to_the_next_one():
    scenario = given(FLEET, *farm(2, capacity=1)).when(create(J1)).when(create(J2))
    assert pc_of(scenario).in_use == 1
    scenario.when(CancelJob(J1))
    assert [made.job_id for made in told(scenario, AttemptCreated)] == [J2]
    assert pc_of(scenario).in_use == 1


def test_many_jobs_one_after_the_other_leave_no_slot_behind():
    scenario = given(FLEET, *farm(3, capacity=2))
    for number in range(1, 6):
        scenario.when(create(job_id(number)))
        begin(scenario, next(d for d in (D1, D2, D3) if scenario.state.devices[d].assignment))
        scenario.when(CancelJob(job_id(number)))
        for device in (D1, D2, D3):
            if scenario.state.devices[device].running:
                scenario.when(work_in_hand(scenario, device).completes())
        assert pc_of(scenario).in_use == 0
