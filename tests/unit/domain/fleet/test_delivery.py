"""Work reaches its agent: SENT is recorded once for each run, whether it is fetched, pushed or claimed for a PC."""

import pytest

from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import (
    CancelAssignment,
    ClaimForPc,
    MarkSilent,
    MarkStalled,
    PauseJob,
    ReportCompleted,
)
from drover.domain.fleet.events import (
    AttemptCreated,
    AttemptFailed,
    AttemptProgressed,
    AttemptSent,
    AttemptStarted,
    AttemptSucceeded,
    AttemptTimedOut,
    DeviceCameOnline,
    DeviceWentOffline,
    JobReturned,
    RetryScheduled,
)
from drover.domain.fleet.state import Phase
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import (
    D1,
    D2,
    D3,
    J1,
    Work,
    active,
    at,
    begin,
    create,
    created,
    farm,
    pc,
    pc_of,
    posted_id,
    registered,
    told,
    work_of,
)

ONE, TWO, THREE = Work(D1), Work(D2, number=2), Work(D3, number=3)


@pytest.mark.req("EV-04", "OQ-13")
def test_the_first_delivery_is_recorded_with_the_moment_of_its_timeout():
    scenario = given(FLEET, *farm(1)).when(create(J1)).after(seconds=30)
    scenario.when(ONE.fetch()).then(ONE.was_sent(since=scenario.now))
    assert told(scenario, AttemptSent)[0].timeout_at == at(seconds=30, minutes=20)
    assert work_of(scenario, ONE).phase is Phase.SENT


@pytest.mark.req("EV-04")
def test_a_repeated_delivery_changes_nothing():
    scenario = given(FLEET, *farm(1), *active(), *ONE.sent()).when(ONE.fetch()).then_nothing()
    scenario.when(ONE.runs()).when(ONE.fetch()).then_rejected(Code.CONFLICT)


@pytest.mark.req("EV-04")
def test_each_attempt_is_sent_once():
    scenario = given(FLEET, *farm(1), *active(), *ONE.running(2)).when(ONE.fails(run=2)).after(seconds=5).ticked()
    scenario.when(ONE.fetch(3)).then(ONE.was_sent(3, since=scenario.now))
    scenario.when(ONE.fetch(3)).then_nothing()


@pytest.mark.parametrize("run", [0, 1, 3])
def test_another_run_than_the_current_one_cannot_be_fetched(run):
    given(FLEET, *farm(1), *active(), *ONE.offered(2)).when(ONE.fetch(run)).then_rejected(Code.CONFLICT)


def test_what_was_taken_back_cannot_be_fetched():
    scenario = given(FLEET, *farm(1), *active(), *ONE.offered()).when(PauseJob(J1))
    scenario.when(ONE.fetch()).then_rejected(Code.CONFLICT, assignment_id=ONE.id)


def test_a_retry_cannot_be_fetched_before_it_is_due():
    scenario = given(FLEET, *farm(1), *active(), *ONE.running()).when(ONE.fails())
    for run in (1, 2):
        scenario.when(ONE.fetch(run)).then_rejected(Code.CONFLICT)


def test_what_waits_for_its_device_cannot_be_fetched():
    scenario = given(FLEET, *farm(2), *active(), *ONE.running(), *TWO.running()).when(MarkSilent(D1))
    scenario.when(ONE.fetch()).then_rejected(Code.CONFLICT)


def test_an_unknown_assignment_cannot_be_fetched():
    given(FLEET, *farm(1)).when(Work(id=posted_id(7)).fetch()).then_rejected(Code.CONFLICT)


@pytest.mark.req("OQ-05")
def test_a_pc_claims_what_waits_for_its_phones():
    scenario = given(FLEET, *farm(2, 1)).when(create(J1))
    scenario.when(ClaimForPc("pc1", 20)).then(AttemptSent, AttemptStarted, AttemptSent, AttemptStarted)
    assert {sent.device_id for sent in told(scenario, AttemptSent)} == {D1, D2}
    answered = FLEET.answer(scenario.decision.events)
    assert [row["run"] for row in answered] == [1, 1]
    assert {row["assignment_id"] for row in answered} == {sent.assignment_id for sent in told(scenario, AttemptSent)}


@pytest.mark.req("OQ-05")
@pytest.mark.parametrize(("wanted", "claimed"), [(0, 0), (1, 1), (2, 2), (3, 3), (1000, 3)])
def test_a_pc_claims_at_most_what_it_asks_for_and_at_most_its_slots(wanted, claimed):
    scenario = given(FLEET, *farm(5, capacity=3)).when(create(J1)).when(ClaimForPc("pc1", wanted))
    assert len(told(scenario, AttemptSent)) == claimed
    assert pc_of(scenario).in_use == 3


@pytest.mark.req("OQ-05")
def test_nothing_is_claimed_twice():
    scenario = given(FLEET, *farm(3)).when(create(J1)).when(ClaimForPc("pc1", 2))
    first = {sent.assignment_id for sent in told(scenario, AttemptSent)}
    scenario.when(ClaimForPc("pc1", 20)).then(AttemptSent, AttemptStarted)
    assert told(scenario, AttemptSent)[0].assignment_id not in first
    scenario.when(ClaimForPc("pc1", 20)).then_nothing()
    assert scenario.decision.result == []


@pytest.mark.req("OQ-05")
def test_a_pc_cannot_claim_what_runs_or_was_cancelled():
    scenario = begin(given(FLEET, *farm(2)).when(create(J1)), D1).when(CancelAssignment(TWO.id))
    scenario.when(ClaimForPc("pc1", 20)).then_nothing()


@pytest.mark.req("OQ-05")
@pytest.mark.parametrize("wanted", [-1, 1001])
def test_a_claim_has_bounds(wanted):
    given(FLEET, *farm(1)).when(ClaimForPc("pc1", wanted)).then_rejected(Code.VALIDATION_ERROR, field="max_to_claim")


@pytest.mark.req("OQ-05")
def test_an_unknown_pc_claims_nothing():
    given(FLEET, *farm(1)).when(ClaimForPc("pc9", 1)).then_rejected(Code.NOT_FOUND, pc_id="pc9")


@pytest.mark.req("DI-03")
def test_what_a_pc_claims_has_begun_and_only_its_timeout_ends_it():
    scenario = given(FLEET, *farm(1)).when(create(J1)).when(ClaimForPc("pc1", 1))
    assert work_of(scenario, ONE).phase is Phase.RUNNING
    scenario.when(MarkStalled(ONE.id, 1)).then_nothing()
    scenario.after(minutes=19, seconds=59).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(AttemptTimedOut, RetryScheduled, AttemptCreated)


@pytest.mark.req("DI-01", "DI-03")
def test_a_runner_may_tell_later_when_the_run_that_it_claimed_began():
    begun = at(minutes=1)
    scenario = given(FLEET, *farm(1)).when(create(J1)).when(ClaimForPc("pc1", 1)).after(minutes=2)
    scenario.when(ONE.runs(None, started_at=begun)).then(AttemptProgressed(*ONE.attempt(), 0, False, begun))
    scenario.when(ONE.runs(None, started_at=at(minutes=2))).then_nothing()
    scenario.when(ReportCompleted(ONE.id, completed_at=at(minutes=4), infers=True))
    assert told(scenario, AttemptSucceeded)[0].actual_duration_sec == 180


@pytest.mark.req("DI-03")
def test_a_claimed_run_that_reports_progress_can_stall():
    scenario = given(FLEET, *farm(1)).when(create(J1)).when(ClaimForPc("pc1", 1)).when(ONE.runs(1, progress_pct=20))
    scenario.when(MarkStalled(ONE.id, 1)).then(AttemptFailed, RetryScheduled)


@pytest.mark.req("DI-03")
def test_silence_ends_what_a_pc_claimed():
    scenario = given(FLEET, *farm(1)).when(create(J1)).when(ClaimForPc("pc1", 1))
    scenario.when(MarkSilent(D1)).then(ONE.rolled_back(), DeviceWentOffline, JobReturned)


@pytest.mark.req("DI-03")
def test_a_claim_is_a_sign_of_life_of_all_phones_of_the_pc_and_gives_them_work():
    scenario = given(FLEET, pc(), registered(D1), registered(D2), created()).when(ClaimForPc("pc1", 20))
    assert {event.device_id for event in told(scenario, DeviceCameOnline)} == {D1, D2}
    assert {event.device_id for event in told(scenario, AttemptStarted)} == {D1, D2}
    assert len(FLEET.answer(scenario.decision.events)) == 2
