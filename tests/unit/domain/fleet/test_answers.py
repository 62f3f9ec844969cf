"""What the caller of a recorded command is told comes from its events alone, so that a repeat is told the same."""

import pytest

from drover.domain.decider import Rejection
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import (
    AssignJob,
    ChangeDevice,
    ClaimForPc,
    DeactivateJob,
    FireOverdue,
    MarkOnline,
    PauseJob,
    RegisterDevice,
    RegisterPc,
)
from drover.domain.fleet.events import PcRegistered
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import (
    D1,
    D2,
    G1,
    J1,
    Work,
    active,
    create,
    created,
    farm,
    pc,
    posted_id,
    registered,
)

ONE, TWO = Work(D1), Work(D2, number=2)


def answer_to(scenario, command):
    scenario.when(command)
    return FLEET.answer(scenario.decision.events)


def running(events):
    return given(FLEET, *farm(2), *active(), *events, *TWO.running())


@pytest.mark.req("DF-01")
def test_a_registered_device_is_told_with_its_times():
    scenario = given(FLEET)
    told = answer_to(scenario, RegisterDevice(D1, "SERIAL0001", G1, "pc1"))
    assert told["created_at"] == told["updated_at"] == scenario.now


def test_a_registered_pc_is_told():
    assert answer_to(given(FLEET), RegisterPc("pc1", 7)) == {"id": "pc1", "capacity": 7}
    assert answer_to(given(FLEET, pc()), RegisterPc("pc1", 7)) == {"id": "pc1", "capacity": 7}


@pytest.mark.req("DF-02")
def test_a_job_is_told_with_its_times():
    scenario = given(FLEET)
    told = answer_to(scenario, create(J1, title="한국어", base_reward=2.5))
    assert (told["title"], told["base_reward"]) == ("한국어", 2.5)
    assert told["created_at"] == scenario.now


def test_a_job_is_active_in_its_answer_only_if_it_is_its_own_turn():
    scenario = given(FLEET, pc(), registered(D1), created(J1), created("11111111-0000-7000-8000-000000000002"))
    told = answer_to(scenario, create("11111111-0000-7000-8000-000000000003"))
    assert told["status"] == "created"
    scenario.when(MarkOnline(D1))


@pytest.mark.req("DF-08")
def test_an_assignment_is_told_by_its_id_whether_it_waits_or_is_supplied():
    scenario = given(FLEET, pc(), registered(D1), created())
    assert answer_to(scenario, AssignJob(posted_id(1), J1, D1)) == {"id": posted_id(1)}


@pytest.mark.req("OQ-05")
def test_a_delivery_is_told_by_assignment_and_run():
    assert answer_to(running(ONE.offered()), ONE.fetch()) == [{"assignment_id": ONE.id, "run": 1}]
    assert answer_to(running(ONE.offered()), ClaimForPc("pc1", 5)) == [{"assignment_id": ONE.id, "run": 1}]


@pytest.mark.req("DF-10", "DF-03")
@pytest.mark.parametrize(
    ("events", "report", "expected"),
    [
        (ONE.sent(), ONE.runs(progress_pct=7), {"status": "running", "progress_pct": 7}),
        (ONE.running(), ONE.completes(), {"status": "completed", "progress_pct": 100, "retry_count": 0}),
        (ONE.sent(), ONE.completes(), {"status": "completed", "progress_pct": 100}),
        (ONE.running(), ONE.fails(), {"status": "pending", "retry_count": 1, "completed_at": None}),
        (ONE.sent(), ONE.fails(), {"status": "pending", "retry_count": 1}),
        (ONE.running(3), ONE.fails(run=3), {"status": "failed", "retry_count": 3, "error_code": "E1002"}),
        (ONE.running(), ONE.fails("E2001"), {"status": "failed", "retry_count": 1, "error_code": "E2001"}),
    ],
)
def test_a_report_is_told_what_became_of_the_assignment(events, report, expected):
    told = answer_to(running(events), report)
    assert {name: told[name] for name in expected} == expected
    assert (told["id"], told["job_id"], told["device_id"]) == ONE.of


def test_a_recorded_refusal_is_told_again_from_its_events():
    told = answer_to(running(ONE.running(2)), ONE.completes(1))
    assert isinstance(told, Rejection)
    assert (told.code, told.details) == ("STALE_ATTEMPT", {"run": 1, "current_run": 2})


@pytest.mark.req("OQ-12")
def test_how_many_timed_out_is_told():
    scenario = running(ONE.running()).after(minutes=20)
    assert answer_to(scenario, FireOverdue()) == {"timed_out": 2}


@pytest.mark.parametrize("command", [PauseJob(J1), DeactivateJob(J1)])
def test_what_people_do_with_jobs_needs_no_answer(command):
    assert answer_to(running(ONE.offered()), command) is None


def test_a_change_is_told_the_same_whether_its_pc_is_new_or_not():
    known = answer_to(given(FLEET, pc(), pc("pc2"), registered(D1)), ChangeDevice(D1, pc_id="pc2"))
    scenario = given(FLEET, pc(), registered(D1))
    assert answer_to(scenario, ChangeDevice(D1, pc_id="pc2")) == known
    assert isinstance(scenario.decision.events[0], PcRegistered)
