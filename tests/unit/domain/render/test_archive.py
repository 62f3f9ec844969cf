"""What ended leaves the state a day later; the read model keeps it."""

import pytest

from drover.domain.alerts import AlertRaised
from drover.domain.errors import Code
from drover.domain.render import evolution
from drover.domain.render.commands import CancelRender, ClaimRender, GetRender, ReportWork, RerunRender
from drover.domain.render.events import RenderArchived
from tests.unit.domain.render.world import ENDED_STATES, HAND, WORKING_STATES, queue, queue_of, request, requested


@pytest.mark.req("RN-01")
@pytest.mark.parametrize("state", ENDED_STATES)
def test_a_day_after_its_end_it_is_archived(state):
    scenario = queue(*ENDED_STATES[state]).after(hours=24, seconds=-1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(RenderArchived(1))
    assert queue_of(scenario).renders == {}
    assert queue_of(scenario).timers.due == {}
    scenario.when(GetRender(1)).then_rejected(Code.NOT_FOUND)
    scenario.when(RerunRender(1)).then_rejected(Code.CONFLICT)
    scenario.when(HAND.completes()).then_rejected(Code.STALE_ATTEMPT)


def test_the_day_begins_with_its_end():
    scenario = queue(*WORKING_STATES["uploading"]).after(minutes=20).when(HAND.completes())
    scenario.after(hours=23, minutes=59).ticked().then_nothing()
    scenario.after(minutes=1).ticked().then(RenderArchived(1))


def test_what_waits_is_not_archived_however_long():
    scenario = queue(requested()).after(days=30).ticked().then(AlertRaised)
    assert list(queue_of(scenario).renders) == [1]


@pytest.mark.req("RN-18")
def test_its_number_is_not_given_again():
    scenario = queue(*ENDED_STATES["completed"]).after(days=2).ticked().when(request()).then_answers(id=2)
    assert list(queue_of(scenario).renders) == [2]


@pytest.mark.req("YR-10")
def test_the_oldest_leaves_earlier_when_too_many_have_ended(monkeypatch):
    monkeypatch.setattr(evolution, "PAST_RENDERS_MAX", 1)
    scenario = queue(requested(1), requested(2)).when(CancelRender(1)).when(CancelRender(2))
    scenario.after(minutes=20, seconds=-1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(RenderArchived(1))
    scenario.when(RerunRender(1)).then_rejected(Code.CONFLICT)
    scenario.after(hours=23, minutes=40).ticked().then(RenderArchived(2))


@pytest.mark.req("YR-10")
def test_one_that_is_run_again_stays(monkeypatch):
    monkeypatch.setattr(evolution, "PAST_RENDERS_MAX", 1)
    scenario = queue(requested(1), requested(2)).when(CancelRender(1)).when(CancelRender(2)).when(RerunRender(1))
    scenario.after(minutes=21).ticked()
    assert list(queue_of(scenario).renders) == [1, 2]


@pytest.mark.req("YR-10")
def test_the_alerts_of_a_render_leave_with_it():
    scenario = queue(requested()).when(ClaimRender(1, "mine")).when(ReportWork(1, "failed", message="no"))
    assert list(queue_of(scenario).alerts) == ["render_failed:1"]
    scenario.after(hours=24).ticked()
    assert queue_of(scenario).alerts == {}
