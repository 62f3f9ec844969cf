"""Leases: a live worker renews; from one that is silent, stuck or stopped the render is taken back."""

import pytest

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.errors import Code
from drover.domain.render.commands import CancelRender, Claim, ReleaseRender, RenewLease
from drover.domain.render.events import LeaseRenewed, RenderArchived, RenderClaimed, RenderCompleted, RenderRequeued
from drover.domain.render.state import Status
from tests.unit.domain.render.world import (
    ENDED_STATES,
    HAND,
    W1,
    W2,
    WORKING_STATES,
    Hand,
    at,
    frozen,
    queue,
    queue_of,
    render_of,
    requested,
    told,
    uid,
)

LAPSED = f"Worker {W1} did not renew its lease in time"


@pytest.mark.req("RN-04")
@pytest.mark.parametrize("state", ["preparing", "uploading"])
def test_a_lease_that_lapses_gives_the_render_back(state):
    scenario = queue(*WORKING_STATES[state])
    scenario.after(minutes=30, seconds=-1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(
        RenderRequeued(
            render_id=1, run=1, reason="lapsed", message=LAPSED, recovery_count=1, generation=1, uid=uid(), stop=None
        )
    )


@pytest.mark.req("RN-04", "RN-12")
@pytest.mark.parametrize("state", ["rendering", "encoding"])
def test_it_is_given_back_as_well_while_nexrender_is_at_work(state):
    """Leases end before renders run out of time: here the worker submitted two seconds after its claim."""
    hand = Hand()
    history = WORKING_STATES[state]
    scenario = queue(*history[:2]).after(seconds=2).given(hand.submitted(since=at(seconds=2)), *history[3:])
    scenario.after(minutes=30, seconds=-2).ticked().then(
        RenderRequeued(
            render_id=1, run=1, reason="lapsed", message=LAPSED, recovery_count=1, generation=1, uid=uid(), stop=None
        )
    )


@pytest.mark.req("RN-04", "RN-18")
def test_it_is_pending_and_nobodys_and_its_job_at_nexrender_goes_on():
    scenario = queue(*WORKING_STATES["uploading"]).after(minutes=30).ticked()
    render = render_of(scenario)
    assert (render.status, render.worker_id, render.lease_until, render.recovery_count) == (
        Status.PENDING,
        None,
        None,
        1,
    )
    assert (render.uid, render.nexrender_job_id, queue_of(scenario).stops) == (uid(), "nx-1", {})
    scenario.when(Claim(W2)).then(RenderClaimed(1, 2, W2, at(minutes=60), False))


@pytest.mark.req("RN-04")
def test_a_live_worker_renews_and_keeps_it():
    scenario = queue(*WORKING_STATES["uploading"])
    for _ in range(10):
        scenario.after(minutes=29).ticked().then_nothing()
        scenario.when(HAND.renews()).then(LeaseRenewed(1, 1, W1, scenario.now + (at(minutes=30) - at())))
    assert render_of(scenario).recovery_count == 0
    scenario.after(minutes=30).ticked().then(RenderRequeued)


@pytest.mark.req("RN-04", "RN-22")
def test_a_worker_that_wakes_up_late_is_refused_and_the_winner_stays():
    scenario = queue(*WORKING_STATES["uploading"]).after(minutes=30).ticked().when(Claim(W2))
    winner = Hand(1, 2, W2)
    before = frozen(scenario)
    scenario.when(HAND.completes(sha256="cd" * 32)).then_rejected(
        Code.STALE_ATTEMPT, HAND.stale(type(HAND.completes()), 2, "preparing"), run=1, current_run=2
    )
    scenario.when(HAND.renews()).then_rejected(Code.STALE_ATTEMPT)
    assert frozen(scenario) == before
    scenario.when(winner.submits(found=True)).when(winner.has_rendered()).when(winner.completes()).then(RenderCompleted)


@pytest.mark.req("RN-04")
def test_a_late_worker_is_refused_before_anybody_else_has_it():
    scenario = queue(*WORKING_STATES["uploading"]).after(minutes=30).ticked()
    scenario.when(HAND.completes()).then_rejected(
        Code.STALE_ATTEMPT, HAND.stale(type(HAND.completes()), 1, "pending"), status="pending"
    )
    assert render_of(scenario).status is Status.PENDING


def test_a_renewal_that_comes_before_the_clock_has_looked_is_in_time():
    scenario = queue(*WORKING_STATES["uploading"]).after(minutes=31).when(HAND.renews()).then(LeaseRenewed)
    scenario.ticked().then_nothing()


def test_refused_renewals_are_not_written_down():
    """They come every few minutes, and nothing depends on them."""
    scenario = queue(*WORKING_STATES["rendering"]).when(CancelRender(1))
    scenario.when(HAND.renews()).then_rejected(Code.STALE_ATTEMPT, status="cancelled")
    scenario.when(HAND.progresses(70)).then_rejected(Code.STALE_ATTEMPT, status="cancelled")


@pytest.mark.req("RN-04")
def test_the_fourth_recovery_raises_an_alert_which_is_over_when_it_is_completed():
    scenario = queue(requested())
    for lapses in range(1, 6):
        scenario.when(Claim(W1)).after(minutes=30).ticked()
        assert render_of(scenario).recovery_count == lapses
        assert len(told(scenario, AlertRaised)) == (lapses == 4)
    scenario.when(Claim(W2)).when(Hand(1, 6, W2).completes()).then(RenderCompleted, AlertResolved)
    (resolved,) = told(scenario, AlertResolved)
    assert (resolved.kind, resolved.subject, resolved.reason) == ("render_recovering", "1", "completed")
    assert queue_of(scenario).alerts == {}


@pytest.mark.req("RN-04")
def test_that_alert_names_the_render_and_how_often():
    scenario = queue(requested())
    for _ in range(4):
        scenario.when(Claim(W1)).after(minutes=30).ticked()
    (alert,) = told(scenario, AlertRaised)
    assert (alert.kind, alert.subject, alert.details, alert.until) == ("render_recovering", "1", {"render_id": 1}, None)
    assert "_MAIN Mini Chip Count" in alert.message
    assert "4 times" in alert.message


@pytest.mark.req("RN-04")
def test_a_render_that_its_worker_dies_of_again_and_again_raises_it_too():
    """Each time it comes back to it in time, so no lease ever lapses."""
    scenario = queue(requested()).when(Claim(W1))
    for _ in range(3):
        scenario.after(minutes=1).when(Claim(W1)).then(RenderClaimed)
    scenario.after(minutes=1).when(Claim(W1)).then(RenderClaimed, AlertRaised)
    scenario.when(Claim(W1)).then(RenderClaimed)
    assert render_of(scenario).recovery_count == 0


@pytest.mark.req("RN-21")
@pytest.mark.parametrize("state", WORKING_STATES)
def test_an_operator_releases_a_stuck_render(state):
    scenario = queue(*WORKING_STATES[state]).when(ReleaseRender(1))
    scenario.then(
        RenderRequeued(
            render_id=1,
            run=1,
            reason="released",
            message="Released by an operator",
            recovery_count=1,
            generation=1,
            uid=uid(),
            stop=None,
        )
    )
    render = render_of(scenario)
    assert (render.status, render.worker_id, render.recovery_count) == (Status.PENDING, None, 1)
    assert queue_of(scenario).held == {}
    scenario.when(HAND.renews()).then_rejected(Code.STALE_ATTEMPT)


@pytest.mark.req("RN-21")
def test_the_fourth_release_is_an_alert_as_well():
    scenario = queue(requested())
    for release in range(1, 5):
        scenario.when(Claim(W1)).when(ReleaseRender(1))
        assert bool(told(scenario, AlertRaised)) is (release == 4)


@pytest.mark.req("RN-21")
def test_one_that_is_pending_is_released_already():
    queue(requested()).when(ReleaseRender(1)).then_nothing()


@pytest.mark.req("RN-21")
@pytest.mark.parametrize("state", ENDED_STATES)
def test_one_that_has_ended_cannot_be_released(state):
    queue(*ENDED_STATES[state]).when(ReleaseRender(1)).then_rejected(Code.CONFLICT, status=state)
    queue(*ENDED_STATES[state], RenderArchived(1)).when(ReleaseRender(1)).then_rejected(Code.CONFLICT)
    queue().when(ReleaseRender(1)).then_rejected(Code.NOT_FOUND)


@pytest.mark.req("RN-04")
@pytest.mark.parametrize("state", WORKING_STATES)
def test_a_worker_that_stops_in_good_order_hands_back_and_it_is_no_recovery(state):
    scenario = queue(*WORKING_STATES[state]).when(HAND.hands_back())
    scenario.then(
        RenderRequeued(
            render_id=1,
            run=1,
            reason="handed_back",
            message=f"Worker {W1} was stopped",
            recovery_count=0,
            generation=1,
            uid=uid(),
            stop=None,
        )
    )
    assert queue_of(scenario).held == {}
    scenario.when(Claim(W2)).then_answers(render_id=1, run=2, resumed=False)
    scenario.when(HAND.hands_back()).then_rejected(
        Code.STALE_ATTEMPT, HAND.stale(type(HAND.hands_back()), 2, "preparing")
    )


def test_a_report_about_no_render_is_not_found_and_one_of_an_archived_render_is_stale():
    queue().when(RenewLease(1, 1, W1)).then_rejected(Code.NOT_FOUND, render_id=1)
    archived = queue(*ENDED_STATES["completed"], RenderArchived(1))
    archived.when(HAND.completes()).then_rejected(Code.STALE_ATTEMPT, render_id=1)
