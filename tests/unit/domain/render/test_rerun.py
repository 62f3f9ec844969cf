"""Running again what failed or was cancelled: from the start, as a new job at nexrender, in its old place."""

import pytest

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.errors import Code
from drover.domain.render.commands import CancelRender, Claim, ClaimStop, ReportStopped, RerunRender
from drover.domain.render.events import RenderArchived, RenderCancelled, RenderFailed, RenderRequeued
from drover.domain.render.policy import STOP_TRIES_MAX
from drover.domain.render.state import Status
from drover.domain.render.timer_keys import WORKERS_TIMER
from tests.unit.domain.render.world import (
    ENDED_STATES,
    HAND,
    W1,
    W2,
    WORKING_STATES,
    Hand,
    queue,
    queue_of,
    render_of,
    requested,
    uid,
)


@pytest.mark.req("RN-01")
def test_a_failed_one_is_run_again_at_once():
    scenario = queue(*ENDED_STATES["failed"]).after(minutes=5).when(RerunRender(1))
    fresh = uid(1, 2, scenario.now)
    scenario.then(
        RenderRequeued(
            render_id=1,
            run=1,
            reason="rerun",
            message="Run again by an operator",
            recovery_count=0,
            generation=2,
            uid=fresh,
            stop=None,
        )
    )
    render = render_of(scenario)
    assert (render.status, render.uid, render.touched, render.rendered) == (Status.PENDING, fresh, False, False)
    scenario.when(Claim(W2)).then_answers(render_id=1, run=2)


def test_the_job_that_failed_is_still_to_be_stopped():
    scenario = queue(*ENDED_STATES["failed"]).when(RerunRender(1))
    assert list(queue_of(scenario).stops) == [uid()]
    scenario.when(ClaimStop(W1)).then_answers(uid=uid(), discard=False)


@pytest.mark.req("RN-02")
def test_a_cancelled_one_is_run_again_only_when_its_file_is_discarded():
    """Whoever discards it must not find the new one under the same name."""
    scenario = queue(*ENDED_STATES["cancelled"]).when(RerunRender(1)).then_rejected(Code.CONFLICT, render_id=1)
    scenario.when(ClaimStop(W2)).when(RerunRender(1)).then_rejected(Code.CONFLICT)
    scenario.when(ReportStopped(1, uid(), W2)).when(RerunRender(1)).then(RenderRequeued)


def test_a_stop_that_nobody_managed_keeps_nobody_from_running_it_again():
    scenario = queue(*ENDED_STATES["cancelled"])
    for _ in range(STOP_TRIES_MAX + 1):
        scenario.when(ClaimStop(W1)).after(minutes=1)
    scenario.when(RerunRender(1)).then(RenderRequeued)


def test_one_that_was_cancelled_before_anybody_had_it_is_run_again_at_once():
    scenario = queue(requested(), RenderCancelled(1, 0, "", None)).when(RerunRender(1)).then(RenderRequeued)
    assert list(queue_of(scenario).timers.due) == [WORKERS_TIMER]


@pytest.mark.parametrize("state", ["pending", *WORKING_STATES, "completed"])
def test_nothing_else_can_be_run_again(state):
    histories = {"pending": [requested()], **WORKING_STATES, "completed": ENDED_STATES["completed"]}
    queue(*histories[state]).when(RerunRender(1)).then_rejected(Code.CONFLICT, status=state)


def test_one_that_ended_more_than_a_day_ago_cannot_and_one_that_never_was_is_not_found():
    queue(*ENDED_STATES["failed"], RenderArchived(1)).when(RerunRender(1)).then_rejected(Code.CONFLICT)
    queue().when(RerunRender(1)).then_rejected(Code.NOT_FOUND)


def test_it_is_not_archived_while_it_runs_again():
    scenario = queue(*ENDED_STATES["failed"]).after(hours=23).when(RerunRender(1)).after(hours=2).ticked()
    scenario.then(AlertRaised)  # that no worker is there
    assert render_of(scenario).status is Status.PENDING


@pytest.mark.req("RN-19")
def test_it_has_its_old_place_in_the_queue():
    scenario = queue(*ENDED_STATES["failed"]).after(minutes=1).given(requested(2)).when(RerunRender(1))
    scenario.when(Claim(W1)).then_answers(render_id=1)


@pytest.mark.req("RN-03")
def test_what_the_worker_of_the_job_that_failed_still_says_is_refused():
    scenario = queue(*ENDED_STATES["failed"]).when(RerunRender(1)).when(Claim(W1))
    scenario.when(HAND.completes()).then_rejected(
        Code.STALE_ATTEMPT, HAND.stale(type(HAND.completes()), 2, "preparing"), current_run=2
    )


def test_alerts_about_the_render_are_over_so_that_the_next_failure_is_heard():
    scenario = queue(*WORKING_STATES["preparing"])
    scenario.when(HAND.fails("GFX_DATA_UNREADABLE")).then(RenderFailed, AlertRaised)
    scenario.after(minutes=1).when(RerunRender(1)).then(RenderRequeued, AlertResolved).when(Claim(W1))
    scenario.when(Hand(1, 2).fails("GFX_DATA_UNREADABLE")).then(RenderFailed, AlertRaised)


def test_alerts_about_more_than_the_render_stay():
    scenario = queue(*WORKING_STATES["preparing"]).when(HAND.fails("TEMPLATE_MISSING"))
    scenario.when(RerunRender(1)).then(RenderRequeued)
    assert list(queue_of(scenario).alerts) == ["template_missing:comp_chips"]


def test_how_often_its_worker_died_is_counted_anew():
    scenario = queue(requested()).when(Claim(W1)).when(Claim(W1)).when(Claim(W1)).when(Claim(W1))
    assert render_of(scenario).resumes == 3
    scenario.when(CancelRender(1)).when(ReportStopped(1, uid(), W1)).when(RerunRender(1))
    assert render_of(scenario).resumes == 0
