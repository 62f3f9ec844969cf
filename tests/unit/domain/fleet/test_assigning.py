"""A person names a device for a job: it becomes a target, waits for a slot, and is assigned only once."""

import pytest

from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import AssignJob, CancelAssignment, DeactivateJob, MarkOnline, ResumeJob
from drover.domain.fleet.events import (
    AssignmentReopened,
    AssignmentRequested,
    AttemptCreated,
    DeviceCameOnline,
    JobActivated,
    SupplyAdvanced,
    Target,
)
from drover.domain.fleet.state import AssignmentStatus, Phase
from drover.domain.ids import derived_uuid
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import (
    D1,
    D2,
    D3,
    G1,
    G2,
    J1,
    J2,
    NOBODY,
    Work,
    active,
    create,
    created,
    farm,
    in_hand,
    job_of,
    online,
    pc,
    pc_of,
    posted_id,
    registered,
    work_of,
)

POSTED = Work(D1, id=posted_id(1))
ASSIGN = AssignJob(posted_id(1), J1, D1)


@pytest.mark.req("DF-08")
def test_a_named_device_waits_without_a_slot_until_it_is_supplied():
    scenario = given(FLEET, pc(), registered(D1), created()).when(ASSIGN).then(POSTED.requested())
    scenario.then_answers(id=posted_id(1))
    waiting = work_of(scenario, POSTED)
    assert (waiting.phase, waiting.status, waiting.assigned_at) == (Phase.WAITING, AssignmentStatus.PENDING, None)
    assert pc_of(scenario).in_use == 0
    scenario.when(MarkOnline(D1)).then(DeviceCameOnline, JobActivated(J1), SupplyAdvanced, POSTED.created())
    assert work_of(scenario, POSTED).assigned_at == scenario.now


@pytest.mark.req("DF-08")
def test_what_waits_is_not_there_for_polls():
    scenario = given(FLEET, pc(), registered(D1), created()).when(ASSIGN)
    scenario.when(POSTED.fetch(run=0)).then_rejected(Code.CONFLICT)


@pytest.mark.req("DF-08")
def test_a_named_device_that_is_free_is_supplied_at_once():
    scenario = given(FLEET, pc(), *online(D1, group=G2), *online(D2), *active(target=Target(group_id=G1)))
    scenario.given(*Work(D2).running()).when(ASSIGN).then(POSTED.requested(), POSTED.created())
    scenario.then_answers(id=posted_id(1))


@pytest.mark.req("DF-08", "OQ-03")
def test_a_named_device_waits_for_a_slot_of_its_pc():
    busy = Work(D2)
    scenario = given(FLEET, pc(capacity=1), *online(D1, group=G2), *online(D2), *active(target=Target(group_id=G1)))
    scenario.given(*busy.running()).when(ASSIGN).then(POSTED.requested())
    scenario.when(busy.completes())
    assert in_hand(scenario, D1).assignment_id == posted_id(1)


@pytest.mark.req("DF-08")
def test_a_named_device_of_a_job_that_is_not_its_turn_waits():
    scenario = given(FLEET, *farm(2), *active(J2), *Work(D2, J2).running(), *Work(D1, J2, number=2).running())
    scenario.given(created(J1)).when(ASSIGN).then(POSTED.requested())


@pytest.mark.req("DF-20")
@pytest.mark.parametrize(
    "events",
    [POSTED.offered(), POSTED.sent(), POSTED.running(), [POSTED.requested()]],
    ids=["offered", "sent", "running", "waiting"],
)
def test_a_second_assignment_of_what_is_pending_or_running_is_the_same_one(events):
    scenario = given(FLEET, *farm(1), *active(), *events)
    scenario.when(AssignJob(posted_id(2), J1, D1)).then_nothing().then_answers(id=posted_id(1))


def ended(*events):
    """The job goes on at the second phone."""
    return given(FLEET, *farm(2), *active(), *Work(D2).running(), *events)


@pytest.mark.req("DF-20")
@pytest.mark.parametrize(
    ("events", "status"),
    [
        ([*POSTED.running(), POSTED.succeeded()], "completed"),
        ([*POSTED.running(3), POSTED.failed("E1002", 3), POSTED.final("E1002", 3)], "failed"),
        ([*POSTED.offered(), POSTED.withdrawn("admin"), POSTED.cancelled("admin")], "cancelled"),
    ],
    ids=["completed", "final", "cancelled"],
)
def test_a_second_assignment_of_what_has_ended_is_refused(events, status):
    ended(*events).when(AssignJob(posted_id(2), J1, D1)).then_rejected(
        Code.UNIQUE_VIOLATION, status=status, id=posted_id(1)
    )


@pytest.mark.req("DF-20")
def test_a_failure_with_attempts_left_is_pending_again():
    failed = [*POSTED.running(2, after="E4001"), POSTED.failed("E4001", 2), POSTED.final("E4001", 2)]
    scenario = ended(*failed).when(AssignJob(posted_id(2), J1, D1))
    scenario.then(AssignmentReopened(*POSTED.of), POSTED.created(run=3)).then_answers(id=posted_id(1))
    assert job_of(scenario).failed == 0


@pytest.mark.req("DF-20", "DF-21")
def test_v007_a_reopened_assignment_has_no_more_than_three_attempts():
    failed = [*POSTED.running(2, after="E4001"), POSTED.failed("E4001", 2), POSTED.final("E4001", 2)]
    scenario = ended(*failed).when(AssignJob(posted_id(2), J1, D1))
    scenario.when(POSTED.fetch(3)).when(POSTED.runs(3)).when(POSTED.fails("E1002", 3))
    assert scenario.state.ended[posted_id(1)].failed == 3
    scenario.when(AssignJob(posted_id(2), J1, D1)).then_rejected(Code.UNIQUE_VIOLATION, status="failed")


@pytest.mark.req("DF-20")
def test_a_reopened_assignment_can_be_completed_and_is_counted_once():
    failed = [*POSTED.running(2, after="E4001"), POSTED.failed("E4001", 2), POSTED.final("E4001", 2)]
    scenario = ended(*failed).when(AssignJob(posted_id(2), J1, D1))
    scenario.when(POSTED.fetch(3)).when(POSTED.completes(3))
    assert (job_of(scenario).completed, job_of(scenario).failed) == (1, 0)
    scenario.when(POSTED.completes(3)).then_rejected(Code.CONFLICT)


@pytest.mark.req("DF-20")
def test_a_reopened_assignment_takes_no_second_place_of_a_job_for_a_number():
    """Three places: one for the device that failed and is asked again, one that runs, one for who comes later."""
    failed = [*POSTED.running(2, after="E4001"), POSTED.failed("E4001", 2), POSTED.final("E4001", 2)]
    scenario = given(FLEET, *farm(2), registered(D3), *active(target=Target(count=3)), *Work(D2).running(), *failed)
    scenario.when(AssignJob(posted_id(2), J1, D1)).when(MarkOnline(D3))
    assert in_hand(scenario, D3).job_id == J1


def test_a_device_whose_offer_was_taken_back_can_be_named_again():
    taken_back = [*POSTED.offered(), POSTED.withdrawn("unsent"), POSTED.cancelled("unsent")]
    scenario = ended(*taken_back).when(AssignJob(posted_id(2), J1, D1))
    scenario.then(AssignmentRequested(posted_id(2), J1, D1), AttemptCreated)


@pytest.mark.req("DF-20", "DF-05")
def test_naming_a_device_again_whose_wait_was_cancelled_by_a_person_is_refused():
    scenario = given(FLEET, pc(), registered(D1), created()).when(ASSIGN).when(CancelAssignment(posted_id(1)))
    scenario.when(AssignJob(posted_id(2), J1, D1)).then_rejected(Code.UNIQUE_VIOLATION, status="cancelled")


@pytest.mark.req("DF-21")
@pytest.mark.parametrize(
    ("command", "field"),
    [(AssignJob(posted_id(1), J2, D1), "job_id"), (AssignJob(posted_id(1), J1, NOBODY), "device_id")],
)
def test_v003_job_and_device_exist(command, field):
    given(FLEET, *farm(1), created()).when(command).then_rejected(Code.CONFLICT, rule="V003", field=field)


@pytest.mark.parametrize("field", ["assignment_id", "job_id", "device_id"])
def test_a_malformed_id_is_refused(field):
    fields = {"assignment_id": posted_id(1), "job_id": J1, "device_id": D1} | {field: "x"}
    given(FLEET, *farm(1), created()).when(AssignJob(**fields)).then_rejected(Code.VALIDATION_ERROR, value="x")


def test_an_assignment_id_is_unique():
    scenario = given(FLEET, *farm(2), created(is_active=False), created(J2, is_active=False)).when(ASSIGN)
    scenario.when(AssignJob(posted_id(1), J2, D2)).then_rejected(Code.UNIQUE_VIOLATION, field="id")
    scenario.when(CancelAssignment(posted_id(1)))
    scenario.when(AssignJob(posted_id(1), J2, D2)).then_rejected(Code.UNIQUE_VIOLATION, field="id")


def test_an_id_that_a_client_chose_is_never_given_out_again_by_supply():
    """Ids of supplied assignments can be foretold. One that a client used stays that client's assignment."""
    foretold = derived_uuid(J1, 1, 1, 0)
    scenario = given(FLEET, *farm(1), registered(D2), created(is_active=False))
    scenario.when(AssignJob(foretold, J1, D2)).when(ResumeJob(J1))
    assert scenario.state.assignments[foretold].device_id == D2
    assert in_hand(scenario, D1).assignment_id != foretold
    assert in_hand(scenario, D1).device_id == D1


def test_an_ended_job_takes_no_further_device():
    scenario = given(FLEET, pc(), registered(D1), created()).when(DeactivateJob(J1))
    scenario.when(ASSIGN).then_rejected(Code.CONFLICT, status="deactivated")


@pytest.mark.req("DF-20")
def test_a_second_assignment_is_told_the_same_after_its_job_has_ended():
    work = Work()
    scenario = given(FLEET, *farm(1)).when(create(J1)).when(work.fetch()).when(work.completes())
    scenario.when(ASSIGN).then_rejected(Code.UNIQUE_VIOLATION, status="completed", id=work.id)
