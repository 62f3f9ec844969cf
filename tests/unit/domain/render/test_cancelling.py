"""A render is cancelled from any unfinished state; what nexrender has of it is to be stopped."""

import pytest

from drover.domain.errors import Code
from drover.domain.render.commands import CancelRender, Claim
from drover.domain.render.events import RenderArchived, RenderCancelled, RenderRequeued
from drover.domain.render.state import Status
from tests.unit.domain.render.world import (
    DAY,
    ENDED_STATES,
    HAND,
    W1,
    W2,
    WORKING_STATES,
    queue,
    queue_of,
    render_of,
    requested,
    uid,
)


@pytest.mark.req("RN-02")
@pytest.mark.parametrize("state", WORKING_STATES)
def test_one_at_work_is_cancelled_and_its_job_at_nexrender_is_to_be_stopped(state):
    scenario = (
        queue(*WORKING_STATES[state])
        .when(CancelRender(1, "wrong name"))
        .then(RenderCancelled(1, 1, "wrong name", uid()))
    )
    assert render_of(scenario).status is Status.CANCELLED
    stop = queue_of(scenario).stops[uid()]
    assert (stop.render_id, stop.uid, stop.broadcast_date, stop.discard, stop.tries) == (1, uid(), DAY, True, 0)
    assert stop.composition == "_MAIN Mini Chip Count"


@pytest.mark.req("RN-02")
def test_one_that_nobody_ever_had_is_cancelled_and_there_is_nothing_to_stop():
    scenario = queue(requested()).when(CancelRender(1)).then(RenderCancelled(1, 0, "", None))
    assert queue_of(scenario).stops == {}
    scenario.when(Claim(W1)).then_nothing()


@pytest.mark.req("RN-02")
def test_one_that_is_pending_again_is_stopped_at_nexrender_too():
    """Its worker may have submitted it, and died before it could say so."""
    taken_back = RenderRequeued(
        render_id=1, run=1, reason="lapsed", message="", recovery_count=1, generation=1, uid=uid(), stop=None
    )
    queue(requested(), *HAND.preparing(), taken_back).when(CancelRender(1)).then(RenderCancelled(1, 1, "", uid()))


@pytest.mark.req("RN-02")
def test_one_whose_new_job_nobody_has_begun_may_still_have_a_file_on_the_nas_which_must_go():
    """The worker of the job before may be late."""
    fresh = uid(1, 2)
    again = RenderRequeued(
        render_id=1, run=1, reason="RENDER_TIMEOUT", message="", recovery_count=0, generation=2, uid=fresh, stop=uid()
    )
    scenario = queue(*WORKING_STATES["rendering"], again).when(CancelRender(1)).then(RenderCancelled(1, 1, "", fresh))
    assert {stop: queue_of(scenario).stops[stop].discard for stop in queue_of(scenario).stops} == {
        uid(): False,
        fresh: True,
    }


@pytest.mark.req("RN-02")
@pytest.mark.parametrize("state", ENDED_STATES)
def test_one_that_has_ended_cannot_be_cancelled(state):
    queue(*ENDED_STATES[state]).when(CancelRender(1)).then_rejected(Code.CONFLICT, render_id=1, status=state)


@pytest.mark.req("RN-02")
def test_one_that_ended_long_ago_cannot_be_cancelled_either():
    archived = [*ENDED_STATES["completed"], RenderArchived(1)]
    queue(*archived).when(CancelRender(1)).then_rejected(Code.CONFLICT, render_id=1)


@pytest.mark.parametrize("render_id", [0, 2, 99])
def test_one_that_never_was_is_not_found(render_id):
    queue(requested()).when(CancelRender(render_id)).then_rejected(Code.NOT_FOUND, render_id=render_id)


@pytest.mark.req("RN-02", "RN-03")
def test_its_worker_is_free_at_once_and_no_deadline_of_it_is_left():
    scenario = queue(*WORKING_STATES["rendering"]).when(CancelRender(1))
    assert queue_of(scenario).held == {}
    assert [key for key in queue_of(scenario).timers.due if not key.startswith("x:")] == []
    scenario.given(requested(2)).when(Claim(W1)).then_answers(render_id=2)


@pytest.mark.req("RN-02", "RN-22")
def test_what_its_worker_reports_afterwards_is_refused():
    scenario = queue(*WORKING_STATES["uploading"]).when(CancelRender(1))
    scenario.when(HAND.completes()).then_rejected(
        Code.STALE_ATTEMPT, HAND.stale(type(HAND.completes()), 1, "cancelled"), status="cancelled"
    )
    assert render_of(scenario).status is Status.CANCELLED
    assert render_of(scenario).sha256 is None
    scenario.when(Claim(W2)).then_nothing()
