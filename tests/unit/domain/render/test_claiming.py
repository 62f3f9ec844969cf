"""Claims: the oldest first, one render for a worker, one worker for a render."""

import pytest

from drover.domain.decider import Tick
from drover.domain.errors import Code
from drover.domain.render import render_decider
from drover.domain.render.commands import Claim, ReleaseRender
from drover.domain.render.events import LeaseRenewed, RenderClaimed
from drover.domain.render.policy import Policy
from drover.domain.render.state import Status
from drover.testing.scenario import given
from tests.unit.domain.render.world import (
    HAND,
    LEASE,
    NOON,
    W1,
    W2,
    W3,
    WORKING_STATES,
    Hand,
    answered,
    at,
    frozen,
    hand_of,
    queue,
    queue_of,
    render_of,
    request,
    requested,
    told,
)


@pytest.mark.req("RN-01", "RN-04", "RN-18")
def test_a_worker_claims_and_has_it_for_thirty_minutes():
    scenario = queue(requested()).after(seconds=5).when(Claim(W1))
    scenario.then(RenderClaimed(1, 1, W1, at(minutes=30, seconds=5), False))
    render = render_of(scenario)
    assert (render.status, render.worker_id, render.run) == (Status.PREPARING, W1, 1)
    assert render.lease_until == at(minutes=30, seconds=5)


@pytest.mark.req("RN-19")
def test_the_oldest_is_first():
    scenario = queue()
    for _ in range(3):
        scenario.when(request()).after(seconds=1)
    for worker, render_id in ((W2, 1), (W1, 2), (W3, 3)):
        scenario.when(Claim(worker)).then_answers(render_id=render_id)


@pytest.mark.req("RN-19")
def test_requests_of_one_moment_come_in_the_order_in_which_they_were_made():
    """A dozen rows in one POST have one time, and ten comes after nine."""
    scenario = queue()
    for _ in range(12):
        scenario.when(request())
    order = []
    for number in range(12):
        scenario.when(Claim(f"worker-{number}"))
        order.append(answered(scenario)["render_id"])
    assert order == list(range(1, 13))


@pytest.mark.req("RN-19")
def test_one_that_was_taken_back_is_before_those_that_came_after_it():
    scenario = queue().when(request()).after(seconds=1).when(request()).after(seconds=1).when(Claim(W1))
    scenario.when(ReleaseRender(1)).when(Claim(W2)).then_answers(render_id=1, run=2)


def test_nothing_to_do_is_an_answer_and_no_event():
    scenario = queue().when(Claim(W1)).then_nothing()
    assert scenario.decision.result is None


@pytest.mark.req("RN-03")
def test_what_somebody_has_nobody_else_gets():
    queue(requested(), *HAND.preparing()).when(Claim(W2)).then_nothing()


@pytest.mark.req("RN-03")
@pytest.mark.parametrize("state", WORKING_STATES)
def test_a_worker_that_comes_back_gets_what_it_had_and_its_former_self_is_fenced(state):
    scenario = queue(*WORKING_STATES[state], requested(2)).after(minutes=1).when(Claim(W1))
    scenario.then(RenderClaimed(1, 2, W1, at(minutes=31), True))
    assert render_of(scenario).status is Status.PREPARING
    assert queue_of(scenario).held == {W1: 1}
    scenario.when(HAND.completes()).then_rejected(
        Code.STALE_ATTEMPT, HAND.stale(type(HAND.completes()), 2, "preparing"), current_run=2
    )
    scenario.when(Hand(1, 2).submits()).when(Hand(1, 2).completes())
    assert render_of(scenario).status is Status.COMPLETED


@pytest.mark.req("RN-03")
def test_each_claim_is_a_new_run():
    scenario = queue(requested())
    for run in range(1, 6):
        scenario.when(Claim(W1)).then_answers(run=run, resumed=run > 1)


@pytest.mark.req("RN-22")
@pytest.mark.parametrize("number", range(8))
def test_a_worker_reports_only_about_what_it_has_claimed(number):
    """The right run, and somebody else's name."""
    scenario = queue(*WORKING_STATES["rendering"])
    before = frozen(scenario)
    scenario.when(Hand(1, 1, W2).says()[number])
    assert scenario.decision.rejection.code == Code.STALE_ATTEMPT
    assert frozen(scenario) == before


@pytest.mark.req("RN-04")
def test_a_lease_is_as_long_as_is_set():
    scenario = given(render_decider(Policy(lease_s=90)), requested()).when(Claim(W1))
    scenario.then(RenderClaimed(1, 1, W1, at(seconds=90), False))
    scenario.after(seconds=30).when(HAND.renews()).then(LeaseRenewed(1, 1, W1, at(seconds=120)))


def test_the_lease_of_the_world_is_that_of_003():
    assert LEASE.total_seconds() == Policy().lease_s
    assert told(queue(requested()).when(Claim(W1)), RenderClaimed)[0].lease_until == NOON + LEASE


def test_a_worker_that_is_done_gets_the_next():
    scenario = queue(requested(), requested(2)).when(Claim(W1))
    scenario.when(hand_of(scenario).completes()).when(Claim(W1)).then_answers(render_id=2, run=1, resumed=False)
    scenario.when(Tick()).then_nothing()
