"""What comes due for many at one moment goes on in the next commands: no decision is too long or too big."""

import pytest

from drover.domain.alerts import AlertRaised
from drover.domain.decider import Tick
from drover.domain.event import Event
from drover.domain.render.commands import CancelRender, Claim, ClaimStop
from drover.domain.render.events import RenderArchived, RenderCancelled, RenderClaimed, RenderRequeued, StopAbandoned
from drover.domain.render.policy import DEADLINES_PER_TICK_MAX, STOP_TRIES_MAX
from tests.unit.domain.render.world import W1, Hand, at, queue, queue_of, requested, told, uid

MANY = 1_200


def workers(count: int) -> list[Event]:
    events: list[Event] = []
    for number in range(1, count + 1):
        events += [requested(number), RenderClaimed(number, 1, f"worker-{number}", at(minutes=30), False)]
    return events


@pytest.mark.req("RN-04")
def test_many_leases_that_lapse_together_are_taken_back_bit_by_bit():
    scenario = queue(*workers(MANY)).after(minutes=30).when(Tick())
    assert len(told(scenario, RenderRequeued)) == DEADLINES_PER_TICK_MAX
    scenario.ticked()
    assert (len(queue_of(scenario).pending.due), queue_of(scenario).held) == (MANY, {})


def test_a_day_with_many_ends_in_one_moment_is_archived_bit_by_bit():
    scenario = queue(*[event for number in range(1, MANY + 1) for event in (requested(number),)])
    scenario.given(*[RenderCancelled(number, 0, "", None) for number in range(1, MANY + 1)]).after(hours=24).ticked()
    assert len(told(scenario, RenderArchived)) == MANY
    assert queue_of(scenario).renders == {}


def test_many_stops_that_nobody_managed_are_given_up_bit_by_bit():
    scenario = queue(*workers(300))
    for number in range(1, 301):
        scenario.when(CancelRender(number))
    for stop in queue_of(scenario).stops.values():
        stop.tries = STOP_TRIES_MAX
    given_up = 0
    for _ in range(20):
        scenario.when(ClaimStop(W1))
        given_up += len(told(scenario, StopAbandoned))
        assert len(told(scenario, AlertRaised)) == len(told(scenario, StopAbandoned))
    assert (given_up, queue_of(scenario).stops) == (300, {})


@pytest.mark.req("RN-03")
def test_a_render_that_is_tried_again_for_ever_leaves_nothing_behind_in_the_state():
    scenario = queue(requested())
    for run in range(1, 400):
        scenario.when(Claim(W1)).when(Hand(1, run).submits()).when(Hand(1, run).hands_back())
    assert len(queue_of(scenario).timers.heap) < 200
    assert len(queue_of(scenario).pending.heap) < 200
    assert queue_of(scenario).stops == {}
    assert queue_of(scenario).renders[1].uid == uid()
