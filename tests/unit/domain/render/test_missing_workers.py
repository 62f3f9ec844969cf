"""A render that waits while no worker lives is an alert, until a worker is heard or nothing waits any more."""

import pytest

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.event import TermStarted
from drover.domain.render.commands import CancelRender, Claim
from drover.domain.render.events import LeaseRenewed, RenderCancelled, RenderClaimed, RenderRequeued
from tests.unit.domain.render.world import HAND, W1, W2, WORKING_STATES, Hand, queue, queue_of, request, requested, told

OPEN = "no_render_worker:workers"


def waiting():
    """One render has been waiting for five minutes, and nobody has claimed it."""
    return queue(requested()).after(minutes=5).ticked()


def alerts(scenario):
    return list(queue_of(scenario).alerts)


@pytest.mark.req("RN-14")
def test_a_render_that_nobody_claims_for_five_minutes_is_an_alert():
    scenario = queue(requested(), requested(2)).after(minutes=5, seconds=-1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(AlertRaised)
    (alert,) = told(scenario, AlertRaised)
    assert (alert.kind, alert.subject, alert.until) == ("no_render_worker", "workers", None)
    assert alert.details == {"pending": 2, "render_id": 1}
    assert alert.message == "2 renders wait, and no render worker has been heard of for 5 minutes"


def test_it_is_raised_once():
    waiting().when(request()).after(hours=1).ticked().then_nothing()


def test_the_claim_of_a_worker_ends_it():
    scenario = waiting().when(Claim(W1)).then(RenderClaimed, AlertResolved)
    assert told(scenario, AlertResolved)[0].reason == "claimed"
    assert alerts(scenario) == []


def test_it_is_over_when_nothing_waits_any_more():
    scenario = waiting().when(CancelRender(1)).then(RenderCancelled)
    scenario.ticked().then(AlertResolved)
    assert told(scenario, AlertResolved)[0].reason == "nothing waits"


def test_it_stays_while_another_render_waits():
    scenario = waiting().when(request()).when(CancelRender(1)).ticked()
    assert alerts(scenario) == [OPEN]


def test_a_render_that_comes_before_the_clock_has_ended_it_keeps_it_open():
    scenario = waiting().when(CancelRender(1)).when(request()).ticked()
    assert alerts(scenario) == [OPEN]


def test_a_worker_that_is_at_work_and_renews_its_lease_lives():
    scenario = queue(*WORKING_STATES["rendering"], requested(2))
    for _ in range(2):
        scenario.after(minutes=10).ticked().then_nothing()
        scenario.when(HAND.renews())
    assert alerts(scenario) == []


def test_a_worker_that_died_at_work_is_missed_when_its_next_renewal_is_five_minutes_late():
    scenario = queue(*WORKING_STATES["preparing"], requested(2)).after(minutes=15, seconds=-1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(AlertRaised)


def test_one_worker_that_lives_is_enough():
    scenario = queue(*WORKING_STATES["preparing"], requested(2), *Hand(2, 1, W2).preparing(), requested(3))
    scenario.after(minutes=10).when(Hand(2, 1, W2).renews()).after(minutes=5).ticked().then_nothing()
    assert alerts(scenario) == []


def test_a_renewal_ends_it():
    scenario = queue(*WORKING_STATES["preparing"], requested(2)).after(minutes=15).ticked()
    assert alerts(scenario) == [OPEN]
    scenario.when(HAND.renews()).then(LeaseRenewed, AlertResolved)
    scenario.after(minutes=15, seconds=-1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(AlertRaised)


def test_a_worker_that_stops_in_good_order_is_missed_after_five_minutes():
    scenario = queue(*WORKING_STATES["rendering"], requested(2)).when(HAND.hands_back()).then(RenderRequeued)
    scenario.after(minutes=5, seconds=-1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(AlertRaised)


def test_a_lease_that_lapses_with_nothing_else_waiting_is_an_alert_five_minutes_later():
    scenario = queue(*WORKING_STATES["preparing"]).after(minutes=30).ticked().then(RenderRequeued)
    scenario.after(minutes=5).ticked().then(AlertRaised)


def test_an_empty_queue_misses_nobody():
    queue().after(days=1).ticked().then_nothing()
    scenario = queue(requested()).when(Claim(W1)).after(minutes=8)
    scenario.when(HAND.completes()).after(hours=1).ticked().then_nothing()


@pytest.mark.req("EV-02")
def test_a_change_of_leader_gives_workers_their_full_time_again():
    """While nobody led, nobody could claim anything."""
    scenario = queue(requested()).after(minutes=4).given(TermStarted(2, "b"))
    scenario.after(minutes=5, seconds=-1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(AlertRaised)


@pytest.mark.req("EV-02")
def test_a_change_of_leader_does_not_make_a_late_renewal_later():
    scenario = queue(*WORKING_STATES["preparing"], requested(2)).given(TermStarted(2, "b"))
    scenario.after(minutes=15).ticked().then(AlertRaised)


@pytest.mark.req("EV-02")
def test_a_change_of_leader_ends_no_alert():
    scenario = waiting().given(TermStarted(2, "b")).after(hours=1).ticked()
    assert alerts(scenario) == [OPEN]
