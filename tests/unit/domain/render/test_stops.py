"""Jobs at nexrender that must not go on: owed until a worker says that it is done, or nobody could do it."""

import pytest

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.errors import Code
from drover.domain.render.commands import CancelRender, ClaimStop, ReportStopped
from drover.domain.render.events import RenderCancelled, RenderStopped, StopAbandoned, StopClaimed
from drover.domain.render.policy import STOP_TRIES_MAX
from tests.unit.domain.render.world import (
    DAY,
    ENDED_STATES,
    W1,
    W2,
    WORKING_STATES,
    Hand,
    answered,
    at,
    queue,
    queue_of,
    requested,
    told,
    uid,
)

NAME = "_MAIN Mini Chip Count"


@pytest.mark.req("RN-02")
def test_a_worker_claims_a_stop_and_is_told_all_that_it_needs():
    scenario = queue(*ENDED_STATES["cancelled"]).when(ClaimStop(W2))
    scenario.then(
        StopClaimed(
            render_id=1,
            uid=uid(),
            worker_id=W2,
            until=at(seconds=60),
            tries=1,
            composition=NAME,
            broadcast_date=DAY,
            discard=True,
            nexrender_job_id="nx-1",
        )
    )
    assert answered(scenario) == {
        "render_id": 1,
        "uid": uid(),
        "composition": NAME,
        "broadcast_date": DAY,
        "discard": True,
        "nexrender_job_id": "nx-1",
    }


@pytest.mark.req("RN-02", "RN-12")
@pytest.mark.parametrize(("state", "discard"), [("cancelled", True), ("failed", False)])
def test_only_of_a_cancelled_render_the_file_on_the_nas_goes_too(state, discard):
    queue(*ENDED_STATES[state]).when(ClaimStop(W1)).then_answers(discard=discard)


@pytest.mark.req("RN-02")
def test_one_that_was_never_said_to_be_submitted_is_stopped_by_its_uid():
    scenario = queue(*WORKING_STATES["preparing"]).when(CancelRender(1)).when(ClaimStop(W1))
    scenario.then_answers(uid=uid(), nexrender_job_id=None)


@pytest.mark.req("RN-02")
def test_what_is_done_is_done():
    scenario = queue(*ENDED_STATES["cancelled"]).when(ClaimStop(W1)).when(ReportStopped(1, uid(), W1))
    scenario.then(RenderStopped(1, uid(), W1))
    assert (queue_of(scenario).stops, queue_of(scenario).stops_due.due) == ({}, {})
    scenario.when(ReportStopped(1, uid(), W1)).then_nothing()
    scenario.after(minutes=2).when(ClaimStop(W1)).then_nothing()


@pytest.mark.req("RN-22")
def test_a_stop_that_belongs_to_another_render_is_not_told_done():
    scenario = queue(*ENDED_STATES["cancelled"], requested(2)).when(ReportStopped(2, uid(), W1))
    scenario.then_rejected(Code.CONFLICT, uid=uid())
    assert list(queue_of(scenario).stops) == [uid()]


def test_while_one_sees_to_it_no_other_does_and_after_a_minute_the_next_may():
    scenario = (
        queue(*ENDED_STATES["cancelled"]).when(ClaimStop(W1)).after(seconds=59).when(ClaimStop(W2)).then_nothing()
    )
    assert scenario.decision.result is None
    scenario.after(seconds=1).when(ClaimStop(W2))
    assert told(scenario, StopClaimed)[0].tries == 2


def test_the_clock_needs_nobody_for_a_stop():
    """It is claimed by asking; there is no deadline that would wake the writer."""
    scenario = queue(*ENDED_STATES["cancelled"]).when(ClaimStop(W1)).after(minutes=10).ticked().then_nothing()
    assert list(queue_of(scenario).timers.due) == ["x:1"]


def test_what_cannot_be_stopped_is_given_up_with_an_alert_for_a_day():
    scenario = queue(*ENDED_STATES["cancelled"])
    for tries in range(1, STOP_TRIES_MAX + 1):
        scenario.when(ClaimStop(W1))
        assert told(scenario, StopClaimed)[0].tries == tries
        scenario.after(minutes=1)
    scenario.when(ClaimStop(W1)).then(StopAbandoned(1, uid(), STOP_TRIES_MAX), AlertRaised)
    (alert,) = told(scenario, AlertRaised)
    assert (alert.kind, alert.subject, alert.details) == ("render_not_stopped", uid(), {"uid": uid()})
    assert (queue_of(scenario).stops, queue_of(scenario).stops_due.due) == ({}, {})
    scenario.when(ReportStopped(1, uid(), W1)).then_nothing()
    scenario.after(hours=24, seconds=-1).ticked()
    assert told(scenario, AlertResolved) == []
    scenario.after(seconds=1).ticked()
    assert [event.reason for event in told(scenario, AlertResolved)] == ["time"]


def test_a_worker_that_gives_one_up_is_told_of_the_next_at_once():
    other = Hand(2, 1, W2)
    scenario = queue(*ENDED_STATES["cancelled"])
    for _ in range(STOP_TRIES_MAX):
        scenario.when(ClaimStop(W1)).after(minutes=1)
    scenario.given(requested(2), *other.preparing(), RenderCancelled(2, 1, "", uid(2))).when(ClaimStop(W1))
    scenario.then(StopAbandoned, AlertRaised, StopClaimed)
    assert answered(scenario)["uid"] == uid(2)


def test_the_longest_due_is_first():
    scenario = queue(requested(), requested(2), *Hand(1).preparing(), *Hand(2, 1, W2).preparing())
    scenario.when(CancelRender(2)).after(seconds=1).when(CancelRender(1))
    scenario.when(ClaimStop(W1)).then_answers(uid=uid(2))
    scenario.when(ClaimStop(W1)).then_answers(uid=uid(1))
    scenario.when(ClaimStop(W1)).then_nothing()


def test_a_stop_outlives_its_render():
    scenario = queue(*ENDED_STATES["cancelled"]).after(hours=24).ticked()
    assert queue_of(scenario).renders == {}
    scenario.when(ClaimStop(W1)).then_answers(render_id=1, uid=uid(), composition=NAME, broadcast_date=DAY)
    scenario.when(ReportStopped(1, uid(), W1)).then(RenderStopped)
