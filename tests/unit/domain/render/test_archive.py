"""What ended leaves the state a day later; the read model keeps it."""

import pytest

from drover.domain.alerts import AlertRaised
from drover.domain.errors import Code
from drover.domain.render.commands import GetRender, RerunRender
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
